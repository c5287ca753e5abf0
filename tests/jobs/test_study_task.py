"""A study as one task of the app: the same numbers as the engine's, kept as they finish."""

import numpy as np
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.errors import Cancelled, InputError
from synth_core.experiments.studies.coverage import study_coverage
from synth_core.experiments.studies.covered import coverage_of
from synth_core.experiments.studies.run_study import run_study
from synth_core.figures.palette import color
from synth_core.figures.study import study_figure
from synth_core.jobs.study_task import StudyRequest, run_in_app
from synth_core.system.backend.base import SerialBackend


def analysis(cache, progress=lambda text, share: None):
    settings = make_settings(outcome="x", model="beta", chains=1, draws=200, warmup=200)
    return Analysis(load_example("beta", 200), settings, cache, progress)


@pytest.mark.slow
def test_databases_like_the_table_and_their_violins(cache):
    asked = StudyRequest("like", 4, 1, ("unweighted", "weighted"), (5.0,), (100, 200))
    found = run_in_app(analysis(cache), asked)
    violins = found.violins["lipschitz_bound"]
    assert [(v.case, v.label) for v in violins] == [
        ("n = 100", "Unweighted"), ("n = 100", "Weighted"), ("n = 200", "Unweighted"), ("n = 200", "Weighted"),
    ]  # fmt: skip
    medians = {f"Δ: {v.label}, {v.case}": v.five.median for v in violins}
    for row in found.rows:
        if row.quantity in medians:
            shown = float(row.ours.removeprefix("median ").split(",")[0])
            assert shown == pytest.approx(medians[row.quantity], abs=6e-4)
    assert not any("ECDF" in row.quantity for row in found.rows)  # the tabs above them say it in words
    figure = study_figure(violins, "lipschitz_bound")
    assert len(figure["table"]["rows"]) == 4 and "n = 200" in figure["alt"]
    dots = [each["marker"]["color"] for each in figure["traces"] if "markers" in each.get("mode", "")]
    assert dots == 2 * [color("unweighted"), color("weighted")]  # as on Compare, and not by their place
    assert all(np.isfinite(v.five.maximum) for v in violins)
    shares = [
        v.five.median for v in found.violins["ecdf_max"]
    ]  # 0.0234 stood here, where other pages say points
    off = study_figure(found.violins["ecdf_max"], "ecdf_max")
    assert [float(line[4]) for line in off["table"]["rows"]] == pytest.approx(
        [100 * x for x in shares], rel=1e-3
    )
    told = [
        float(r.ours.removeprefix("median "))
        for r in found.rows
        if r.quantity.startswith("Largest difference of distribution functions")
    ]
    assert told == pytest.approx([100 * x for x in shares], rel=1e-3) and max(shares) < 1
    assert off["layout"]["yaxis"]["title"]["text"].endswith("(percentage points)")


@pytest.mark.slow
def test_intervals_of_databases_like_the_table(cache):
    """The same numbers as the engine's; R = 4 says nothing of coverage itself."""
    whole = analysis(cache)
    found = run_in_app(whole, StudyRequest("coverage", 4, 1, ("unweighted", "weighted"), (5.0,), (100,)))
    study, truth = study_coverage(whole, ["unweighted", "weighted"], [5.0], [100], 4)
    outcome = run_study(study, 4, 1, SerialBackend(), cache)
    expected = coverage_of(outcome, truth)
    assert found.covered == expected and found.violins == {}
    assert [each.rule for each in expected[:1]] == ["u (1 + 2/m)"] and not expected[-1].known
    assert found.words[0].startswith("Unweighted: of 100 intervals")
    assert found.rows[0].quantity == "Mean: confidential table"


def test_the_bar_of_a_study_never_falls(cache):
    """It is of the simulated databases: the fits before them filled it, and it fell to nothing."""
    told = []
    asked = StudyRequest("like", 2, 1, ("unweighted",), (5.0,), (100,))
    run_in_app(analysis(cache, lambda text, share: told.append((text, share))), asked)
    shares = [share for _, share in told]
    assert shares == sorted(shares) and shares[-1] == 1
    assert told[-1][0] == "2 of 2 simulated databases"  # "about 1 s left" stood there
    before = [text for text, share in told if "of 2 simulated" not in text]
    assert before and all(text.startswith("Preparing the study: ") for text in before)
    assert any(text.endswith(" %") for text in before)


def test_a_stopped_study_keeps_what_was_finished(cache):
    asked = StudyRequest("like", 3, 1, ("unweighted",), (5.0,), (100,))

    def stop(text, share):
        if text.startswith("2 of 3"):
            raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        run_in_app(analysis(cache, stop), asked)
    told = []
    run_in_app(analysis(cache, lambda text, share: told.append(text)), asked)
    # Two were stored, and only the third is computed.
    assert [t.split(" simulated")[0] for t in told if "simulated" in t] == ["2 of 3", "3 of 3"]


def test_what_the_app_does_not_run(cache):
    with pytest.raises(InputError, match="command line"):
        run_in_app(analysis(cache), StudyRequest("censor-4", 1000, 1))
    with pytest.raises(InputError, match=r"fatigue\.csv"):
        run_in_app(analysis(cache), StudyRequest("range-5", 5, 1))
    with pytest.raises(InputError, match="no study"):
        run_in_app(analysis(cache), StudyRequest("nothing", 5, 1))
    with pytest.raises(InputError):
        run_in_app(analysis(cache), StudyRequest("like", 5, 1, (), (5.0,), (100,)))
