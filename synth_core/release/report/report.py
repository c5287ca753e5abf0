"""The two reports. The public one is never given anything that was computed from confidential data.

That is held by its arguments: a plan, synthetic frames and the public words of the gate. What
could be said of utility would have to be computed from the confidential table, and ε does not
cover it; so the public report gives utility on the table the plan was tuned on if that is public
or simulated, and otherwise describes the synthetic data alone.
"""

from __future__ import annotations

import functools
import importlib.metadata
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from synth_core.analysis.check.words import combination_words
from synth_core.analysis.counted_table import CountedTable, counted_together
from synth_core.analysis.drawing import DRAWING_WORDS
from synth_core.analysis.measures import ECDF_AVG, ECDF_MAX, measure_label
from synth_core.analysis.result_sentences import sentence
from synth_core.analysis.setting_words import acting_settings, setting_value
from synth_core.analysis.settings import setting_name
from synth_core.analysis.summary import five_numbers
from synth_core.analysis.utility import percentile_words
from synth_core.analysis.wording.belief_sentences import at_most, odds_factor, suspicion
from synth_core.analysis.wording.guarantee_sentences import covers_words, explain
from synth_core.analysis.wording.headings import in_plain_words
from synth_core.data.rules import typeset
from synth_core.data.units import unit_words, values_words
from synth_core.mechanisms.catalogue import ADJUSTMENTS
from synth_core.mechanisms.composition import DELTA, epsilon_at, rho_of
from synth_core.mechanisms.guarantees import Guarantee, belief_after
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.models import family
from synth_core.release.ledger.balances import Place
from synth_core.release.ledger.limit_room import left_words, limit_words, other_words, spent_words
from synth_core.release.output.bundle import dictionary_rows
from synth_core.release.output.dataset import Synthetic, Variable
from synth_core.release.output.gate_check import GateCheck
from synth_core.release.output.look import Look
from synth_core.release.output.source import Source
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.plan_terms import TUNED_ON, ReleaseTerms
from synth_core.release.report import charts
from synth_core.release.report.audit_summary import Audited, differs_words
from synth_core.release.report.coverage_summary import Coverage
from synth_core.release.report.internal_charts import ecdf_chart, growth_chart, weights_chart
from synth_core.system.characters import isolated, visible
from synth_core.system.number_text import (
    ceiling,
    exact,
    floored,
    measured,
    percent,
    rounded_up,
    significant,
)

RECORD_MEASURES = {  # of whole records
    "k_marginal": "k-marginal score, 1000 at most",
    "sample_share": "share of the records whose random sample is as close",
    "pmse": "pMSE",
    "pmse_ratio": "pMSE ratio, 2 for a good model",
    "association": "mean difference of the associations of two columns",
    "worst_association": "largest difference of the associations of two columns",
    "impossible": "share of the records that break a declared rule",
    "impossible_before": "the same, were the fit drawn from without rules",
}
PACKAGES = ("numpy", "scipy", "pandas", "cmdstanpy", "opendp", "pyarrow")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=lambda value: isolated(visible(value)) if type(value) is str else value,  # not Markup
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"measured": measured, "exact": exact, "loss": _loss_number}
    environment.filters |= {"ceiling": ceiling, "floored": floored, "typeset": typeset}
    environment.globals |= {"combination_words": combination_words, "differs_words": differs_words}
    environment.filters["short"] = lambda value: f"{value:.4g}" if isinstance(value, float) else value
    return environment


def _loss_number(epsilon: float, digits: int = 6) -> str:
    return rounded_up(epsilon, digits)


def versions() -> dict[str, str]:
    """The versions of the program's libraries."""
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def _mechanism_words(plan: Plan) -> list[str]:
    point = plan.point
    likelihood = point.likelihood
    if not likelihood.samples:
        return [f"{likelihood.label}: {likelihood.method}"]
    words = [SCHEMES[point.scheme].label, *(ADJUSTMENTS[a] for a in point.adjustments)]
    words.append(likelihood.label)
    if point.standard.of_range:
        words.append(point.standard.label)
    return [plain, *words] if (plain := in_plain_words(point)) else words


def _loss(guarantee: Guarantee, epsilon: float, released: Released) -> dict[str, str]:
    """The privacy loss of a release, and what stands beside it: an ε that only names a ρ is none."""
    if guarantee.pure:
        parts = f"{released.charged} × {rounded_up(epsilon, 6)}" if released.charged > 1 else ""
        return {"loss": f"ε = {rounded_up(epsilon * released.charged, 4)}", "loss_beside": parts}
    rho = rho_of(guarantee, epsilon, 1)
    assert rho is not None
    return {
        "loss": f"ρ = {rounded_up(rho, 4)}",
        "loss_beside": f"named by ε = {rounded_up(epsilon, 6)}; ε = {rounded_up(epsilon_at(rho), 4)} at δ = {DELTA:g}",
    }


def _settings_rows(plan: Plan) -> list[tuple[str, str]]:
    """Settings that move the mechanism, as the plan fixed them; the target ε has a row of its own."""
    acting = acting_settings(plan.settings, plan.point)
    return [(setting_name(name), setting_value(plan.settings, name)) for name in acting if name != "epsilon"]


def _measure_words(name: str) -> str:
    """A measure of utility as a reader of the public report finds it."""
    if name in (ECDF_MAX, ECDF_AVG):
        return measure_label(name).lower()
    if name == "interval_overlap":
        return "overlap of the intervals of regression coefficients"
    if name in RECORD_MEASURES:
        return RECORD_MEASURES[name]
    return re.sub(r"\bq(\d+(?:\.\d+)?)$", lambda match: percentile_words(float(match[1])), name)


@dataclass(frozen=True)
class Released:
    """What both reports are of.

    Attributes
    ----------
    standing : ReleaseTerms
        What this release promises, and what may be told of the tuning.
    epsilon : float
        Of one data set, as charged: the target set in advance, or a measured one that was overridden.
    place : Place
        The number of the release, and sum and limit of the series with it.
    """

    plan: Plan
    standing: ReleaseTerms
    synthetic: Synthetic
    checks: list[GateCheck]
    epsilon: float
    place: Place
    time: str
    anchor: str = ""  # a sentence, of an anchored mechanism
    counted: tuple[CountedTable, ...] = ()  # the noisy tables of a measured one

    @property
    def charged(self) -> int:
        """How many data sets are charged."""
        return self.standing.guarantee.charged(self.plan.datasets)

    def context(self) -> dict[str, Any]:
        """What both templates are given."""
        return {
            "plan": self.plan,
            "guarantee": self.standing.guarantee,
            "checks": self.checks,
            "epsilon": self.epsilon,
            "charged": self.charged,
            "time": self.time,
            "mechanism_words": _mechanism_words(self.plan),
            "warning": self.standing.warning,
            "series_spent": spent_words(self.place),
            "series_limit": limit_words(self.place),
            "series_other": other_words(self.place),
            "versions": versions(),
        }


def public_report(
    released: Released,
    files: list[str],
    density_scale: str,
    audit: Audited | None = None,
    coverage: Coverage | None = None,
) -> bytes:
    """What may leave: what was done, the guarantee in plain words, the synthetic data described.

    Parameters
    ----------
    density_scale : str
        The declared scale that ε depends on, in words.
    audit : Audited, optional
        A privacy audit of the plan on a public or simulated table.
    coverage : Coverage, optional
        How often intervals from databases like the released one hold.
    """
    plan, epsilon, place = released.plan, released.epsilon, released.place
    likelihood, standing = plan.point.likelihood, released.standing
    # Known a priori where terms are clamped, or noise is added: the measured figure is internal.
    replaced = standing.guarantee.replaced(epsilon) if plan.strict else None
    odds = None if replaced is None or standing.guarantee.no_odds else replaced * released.charged
    context = released.context() | {
        "title": f"Synthetic data: {plan.outcome_words}",
        "number": place.number,
        "n": released.synthetic.n_records,
        "m": plan.datasets,
        "combining": plan.point.combining,
        "model": _models(plan) if likelihood.samples else likelihood.model,
        "mechanism": plan.point.label,
        "drawing": DRAWING_WORDS[plan.settings.drawing] if likelihood.samples else "",
        "settings": _settings_rows(plan) if standing.open else [],
        "density_scale": density_scale if likelihood.samples else "",
        "measured": not plan.strict,
        "samples": likelihood.samples,
        # Of a measured mechanism nothing is said in short: what was measured is internal.
        "lead": suspicion(
            standing.guarantee,
            epsilon,
            replaced,
            plan.datasets,
            values=values_words(plan.settings.unit_column),
        )
        if plan.strict
        else "",
        "sentences": explain(
            standing.guarantee,
            epsilon,
            replaced,
            plan.datasets,
            plan.point.weighted,
            "current" if standing.tuned_on == "confidential" else TUNED_ON[standing.tuned_on].split(",")[0],
            anchor=released.anchor,
            more=[
                (covers_words if plan.blocks else unit_words)(
                    plan.settings.unit_column, plan.settings.unit_size
                )
            ],
            unit=plan.settings.unit_column,
        ),
        **_loss(standing.guarantee, epsilon, released),
        "replaced": odds,
        "of_whom": values_words(unit) if (unit := plan.settings.unit_column) else "one record's value",
        "unit": unit,
        "beliefs": []
        if odds is None
        else [(percent(prior, 0), at_most(belief_after(prior, odds))) for prior in (0.01, 0.1, 0.5)],
        "factor": "" if odds is None else odds_factor(odds),
        "tuned_on": TUNED_ON[standing.tuned_on],
        "utility": {_measure_words(k): v for k, v in plan.tuned_on.utility.items()} if standing.open else {},
        "tuned_open": standing.open,
        "whose_accuracy": plan.settings.whose_accuracy,
        "may_be_missing": ", ".join(each.name for each in plan.blocks if each.may_be_missing),
        "counted": counted_together(released.counted, list(plan.outcomes)),
        "variables": [_described(variable) for variable in released.synthetic.variables],
        "audit": audit,
        "coverage": coverage,
        "files": files,
        "dictionary": dictionary_rows(plan),
    }
    return _environment().get_template("public.html").render(context).encode()


def _models(plan: Plan) -> str:
    """The family of the sensitive variable; of several, each with its own."""
    if not plan.parts:
        return family(plan.settings.model).label
    return "; ".join(f"{part.name}: {family(part.settings.model).label}" for part in plan.parts)


def _described(variable: Variable) -> dict[str, Any]:
    """A synthetic variable: a chart of data set 1, and numbers of the first ten data sets.

    Shares are of all records, so that those of categories and of missing values sum to 1; all else is of the values
    that are there.
    """
    shown = [variable.present(j) for j in range(min(len(variable.values), 10))]
    missing = [float(np.isnan(each).mean()) for each in variable.values[:10]]
    rows: list[tuple[str, list[float]]] = []
    if variable.categories is not None:
        for code, category in enumerate(variable.categories):
            shares = [float((values == code).mean()) for values in variable.values[:10]]
            rows.append((f"share of {category}", shares))
        chart = None
    elif all(each.size for each in shown):
        rows.append(("mean", [float(v.mean()) for v in shown]))
        for q in (5.0, 25.0, 50.0, 75.0, 95.0):
            rows.append((percentile_words(q), [float(np.quantile(v, q / 100)) for v in shown]))
        rows[1:1] = [("smallest", [float(v.min()) for v in shown])]
        rows.append(("largest", [float(v.max()) for v in shown]))
        chart = Markup(
            charts.bars(
                shown[0],
                variable.name,
                f"Histogram of the synthetic {variable.name} in data set 1; its median is "
                f"{significant(np.median(shown[0]))}. The table beside it gives the percentiles.",
            )
        )
    else:
        chart = None
    if any(missing):
        rows.append(("share missing", missing))
    return {"name": variable.name, "chart": chart, "statistics": rows}


def internal_report(
    released: Released,
    source: Source,
    look: Look,
    release: str,
    head: str,
    earlier: list[dict[str, Any]],
) -> bytes:
    """Weights, bounds, confidential comparisons: for those who may see the confidential table.

    Parameters
    ----------
    look : Look
        What the table looks like, of `output.look`.
    head : str
        Newest hash of the ledger when this was written: keep it to find a ledger set back in time.
    earlier : list of dict
        Numbers of the releases of the series before this one.
    """
    plan, result = released.plan, source.fitted.result
    one = None if plan.blocks else result.fits[0]
    context = released.context() | {
        "title": f"INTERNAL: release {released.place.number} of {plan.series}",
        "release": release,
        "head": head,
        "series_left": left_words(released.place),
        "settings": _settings_rows(plan),
        "result": result,
        "one": one,
        "parts": source.plain.variables if source.plain.several else (),
        "numbers": source.numbers,
        "lead": sentence(source.plain, plan.settings, standing=released.standing.guarantee),
        "n": released.synthetic.n_records,
        "dropped": source.dropped,
        "dropped_by": {k: v for k, v in source.dropped_by.items() if v},
        "fingerprint": source.table.fingerprint_of((*plan.outcomes, *plan.settings.predictors)),
        "table_name": source.table.name,
        "density_scale": source.density_scale,
        "ecdf_charts": [
            ecdf_chart(variable, source.fitted.confidential[variable.name])
            for variable in released.synthetic.variables
            if variable.categories is None and variable.present(0).size
        ],
        "growth_chart": None if one is None else growth_chart(one),
        "weights": None if one is None or not one.weights.size else five_numbers(one.weights),
        "bounds": five_numbers(result.lipschitz_bounds) if result.lipschitz_bounds.size else None,
        "weights_chart": None if one is None else weights_chart(one),
        "earlier": earlier,
        "look": look,
        "maps": [Markup(charts.pair_maps(pair)) for pair in look.pairs],
        "tuned_words": TUNED_ON[released.standing.tuned_on],
        "whose_accuracy": plan.settings.whose_accuracy,
    }
    return _environment().get_template("internal.html").render(context).encode()
