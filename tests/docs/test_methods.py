"""docs/methods describes what exists: names, guarantees, code, constants. The app shows the same pages as one."""

import importlib
import inspect
import re

import pytest

from synth_core.analysis import fits, utility
from synth_core.analysis.settings import Settings
from synth_core.experiments.explore import point
from synth_core.mechanisms import solving
from synth_core.mechanisms.catalogue import ADJUSTMENTS, MECHANISMS, guarantees
from synth_core.mechanisms.guarantees import safety_factor
from synth_core.mechanisms.likelihoods import LIKELIHOODS
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.mechanisms.standards import STANDARDS
from synth_core.mechanisms.weights import WEIGHT_FUNCTIONS
from synth_core.models import (
    MODELS,
    OwnProgram,
    beta,
    beta_regression,
    categories,
    counts,
    lognormal,
    ordered,
    zero_part,
)
from synth_core.models.mixture import model, pilot
from synth_core.models.transformation import TRANSFORMATIONS
from synth_core.system import limits
from synth_core.ui.help.pages import methods_text, page_text
from tests.conftest import ROOT
from tests.support.documents import DOCS

PAGE = "\n".join(page.read_text() for page in sorted((DOCS / "methods").glob("*.md")))
FAMILIES = MODELS | {OwnProgram.name: OwnProgram}


def section(heading):
    """The text of the section whose heading starts so."""
    found = re.search(rf"^(#+) {re.escape(heading)}.*?(?=^#{{1,3}} |\Z)", PAGE, re.M | re.S)
    assert found, f"docs/methods has no section {heading}"
    return " ".join(found[0].split())


@pytest.mark.parametrize("key", MECHANISMS)
def test_each_mechanism_with_its_guarantee_fits_and_source(key):
    mechanism = MECHANISMS[key]
    text = section(f"`{key}`: {mechanism.label.partition(' (')[0]}")
    assert f"**{mechanism.guarantee('closed').label}**" in text
    assert re.search(r"Fits: \d", text)
    assert "Source: " in text


@pytest.mark.parametrize("name", FAMILIES)
def test_each_model_with_its_class(name):
    family = FAMILIES[name]
    text = section(f"`{name}`: {family.label}")
    assert f"`{family.__module__.removeprefix('synth_core.')}.{family.__name__}`" in text


@pytest.mark.parametrize("guarantee", guarantees().values(), ids=lambda g: g.key)
def test_each_guarantee_by_the_badge_s_name(guarantee):
    assert f"**{guarantee.label}**: " in section("Guarantees")


@pytest.mark.parametrize(
    "name", [*SCHEMES, *ADJUSTMENTS, *LIKELIHOODS, *STANDARDS, *WEIGHT_FUNCTIONS, *TRANSFORMATIONS]
)
def test_each_part_is_named(name):
    assert f"`{name}`" in PAGE


def test_the_code_that_is_named_exists():
    named = set()
    for sentence in re.findall(r"Code:\s+(.*?`)\.(?=\s|$)", PAGE, re.S):
        named |= set(re.findall(r"`([\w./]+)`", sentence))
    assert len(named) > 55
    for name in named:
        if name.startswith("stan/"):
            assert (ROOT / name).is_file(), name
            continue
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found = importlib.import_module(".".join(["synth_core", *parts[:cut]]))
            except ModuleNotFoundError:
                continue
            for attribute in parts[cut:]:
                found = getattr(found, attribute)
            break
        else:
            raise AssertionError(name)


def test_numbers_are_those_of_the_code():
    sampling, utility_text = section("Sampling and convergence"), section("Utility")
    assert f"R-hat exceeds {limits.MAX_RHAT:g}" in sampling
    assert f"below {limits.MIN_ESS_PER_CHAIN} for each chain" in sampling
    assert f"more than {100 * limits.MAX_DIVERGENCE_SHARE:g} %" in sampling
    default = Settings.model_fields
    assert f"{default['chains'].default} chains of {default['warmup'].default:,} warm-up" in sampling
    assert f"\\gt {limits.MAX_KHAT:g}$ nothing" in section("Preview")
    assert f"{utility.BOOTSTRAP_DRAWS} draws" in utility_text
    assert f"normal limit above {utility._RESAMPLE_MEANS_UP_TO:,} records" in utility_text
    assert f"at most {solving.MAX_REFITS} refits" in section("Matching and tuning")
    assert f"on {point.PREDICTIVE} posterior predictive" in section("Matching and tuning")
    a, b = default["range"].default
    assert f"$a = {a:g}$, $b = {b:g}$" in section("Sensitive ranges")
    assert f"({default['reweight_tolerance'].default:.0%} by default)".replace("%", " %") in section(
        "Re-weighting"
    )
    assert (safety_factor(1001), safety_factor(1000)) == (1.05, 1.10)
    assert "$s$ is 1.05 for more than 1,000 records and 1.10 otherwise" in section("Several data sets")
    assert f"at most {fits.SHORT_WARMUP} warm-up iterations" in section("Where slow fits start")
    assert f"more than {fits.SLOW_RECORDS:,} records" in section("Preview")


def test_priors_are_those_of_the_code():
    half_t = r"t_3^{+}(h)"
    assert lognormal.SIGMA_SCALE == 1.0
    for name, parts in {
        "lognormal": [
            f"N}}(0, {lognormal.INTERCEPT_SCALE:g} h)",
            f"N}}(0, {lognormal.SLOPE_SCALE:g} h)",
            half_t,
        ],
        "two_part": [f"N}}(0, {zero_part.SLOPE_SCALE:g} h)", "Logistic}(0, h)"],
        "mixture": [f"\\ge {model.SIGMA_LOWER:g}$", f"Gamma}}({pilot.RATE:g} m, {pilot.RATE:g})$", half_t],
        "beta": [f"Pareto}}({beta.LAMBDA_LOWER:g}, {beta.LAMBDA_SHAPE:g} / h)"],
        "beta_regression": [f"N}}(0, {beta_regression.SLOPE_SCALE:g} h)", "Logistic}(0, h)"],
        "poisson": [
            f"Gamma}}({counts.MEAN_SHAPE:g}, {counts.MEAN_RATE:g} / h)",
            f"N}}(0, {counts.SLOPE_SCALE:g} h)",
        ],
        "categorical": [
            f"N}}(0, {categories.INTERCEPT_SCALE:g} h)",
            f"N}}(0, {categories.STEP_SCALE:g} h)",
        ],
        "ordered": [
            f"N}}(0, {ordered.SHARE_SCALE:g} h)",
            f"N}}(0, {ordered.LOCATION_SCALE:g} h)",
            f"N}}(0, {ordered.SPREAD_SCALE:g} h/\\sqrt{{k-1}})",
        ],
        "negative_binomial": ["scale $5 h$", "LKJ}(6)", "10^{-4}"],
    }.items():
        text = section(f"`{name}`:")
        assert [part for part in parts if part not in text] == [], name


def test_only_own_programs_start_from_their_unweighted_fit():
    assert {family.restart_parameters for family in MODELS.values()} == {()}
    assert "self.restart_parameters" in inspect.getsource(OwnProgram.__init__)


def shown_of(text):
    """A shown text, which has no link that leads out of the app."""
    assert not re.findall(r"\]\((?!#|https?:)", text)
    return text


def test_the_app_shows_all_methods_on_one_page_and_links_between_them_lead_on():
    shown = shown_of(methods_text())
    assert len(shown) > 0.9 * len(PAGE)
    anchors = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", shown, re.M)
    }
    linked = re.findall(r"\]\(#([\w-]+)\)", shown)
    assert len(linked) > 10
    assert set(linked) <= anchors


def test_the_app_shows_the_contract_of_own_programs():
    shown = shown_of(page_text("guide/own-program.md"))
    assert len(shown) > 0.97 * len((DOCS / "guide" / "own-program.md").read_text())
