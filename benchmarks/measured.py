"""Measured synthesis of whole records: of survey size, many data sets, a large table, and ε moved in a browser."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.browser import VIEW, Watched, chromium, moves
from benchmarks.measure import Line, claim, fresh_cache, sized, tree_processor
from benchmarks.records import BLOCKS, PUBLIC_LEVELS, people
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.result import RecordsResult
from synth_core.experiments.rivals.map_runs import installed, planned, run_for_map
from synth_core.release.plan.settings_file import to_link, to_text

DATASETS = 10


def _of(n: int, n_public: int, n_sensitive: int, datasets: int = 1) -> RecordsAnalysis:
    """Simulated people at ε = 1, of whom nothing has been computed yet."""
    predictors = tuple(f"p{i}" for i in range(n_public))
    common = {
        "predictors": predictors,
        "categorical": predictors,
        "seed": 1,
        "epsilon": 1.0,
        "datasets": datasets,
    }
    return RecordsAnalysis(people(n), BLOCKS[:n_sensitive], common, fresh_cache())


def _released(n: int, n_public: int, n_sensitive: int, datasets: int) -> tuple[RecordsResult, float, float]:
    """A result, its seconds and those of processors."""
    analysis = _of(n, n_public, n_sensitive, datasets)
    started, before = time.perf_counter(), tree_processor()
    result = analysis.run("measured")
    return result, time.perf_counter() - started, tree_processor() - before


def _by_aim(n: int, variables: int, beside: float) -> Line:
    """AIM's seconds at the same ρ on the same records."""
    label = f"AIM at the same ρ, n = {n:,}, three public and three sensitive variables"
    if not installed("aim"):
        return Line(label, None, note="not run: requirements-rivals.txt is not installed")
    analysis = _of(n, variables, variables)
    [asked] = planned(["aim"], [1.0], analysis.settings, 1, "rho", blocks=analysis.blocks)
    seconds = run_for_map(analysis, asked).seconds
    return Line(label, seconds, note=f"{seconds / beside:.0f} times as long as measured")


def measured() -> list[Line]:
    """Of 6,000 records one data set in 30 s; of 50,000 with five sensitive variables in 60 s."""
    n = sized(6_000, 600)
    variables, ten = sized(3, 2), sized(DATASETS, 2)
    one, seconds, processor = _released(n, variables, variables, 1)
    _, ten_seconds, ten_processor = _released(n, variables, variables, ten)
    large, large_seconds, large_processor = _released(
        sized(50_000, 800), sized(len(PUBLIC_LEVELS), 2), sized(len(BLOCKS), 3), 1
    )
    for result, least in ((one, 800), (large, 800)):
        claim(result.measures.k_marginal > least, result.measures.k_marginal)
    return [
        Line(f"measured, ε = 1, n = {n:,}, three public and three sensitive variables", seconds,
             processor=processor, note=f"at most 30 s; k-marginal {one.measures.k_marginal:.0f}"),
        Line(f"the same, {ten} data sets of one measurement", ten_seconds, ten * seconds / ten_seconds,
             processor=ten_processor, note=f"naive: {ten} releases of one"),
        _by_aim(n, variables, seconds),
        Line("measured, ε = 1, n = 50,000, ten public and five sensitive variables", large_seconds,
             processor=large_processor, note=f"at most 60 s; k-marginal {large.measures.k_marginal:.0f}"),
    ]  # fmt: skip


def measured_slider() -> Iterator[Line]:
    """ε moved on Compare with the measured row alone, at a table of the survey's size: 5 s are allowed."""
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        if browser is None:
            yield Line("slider to picture, measured", None, note="skipped: Chromium not found")
            return
        yield _moved(browser, Path(place), sized(6_000, 400), sized(3, 2))


def _moved(browser: Any, place: Path, n: int, variables: int) -> Line:
    from tests.browser import conftest

    table, file = people(n), place / "people.csv"
    table.frame.to_csv(file, index=False)
    predictors = tuple(f"p{i}" for i in range(variables))
    common = {"predictors": predictors, "categorical": predictors, "epsilon": 1.0}
    whole = RecordsAnalysis(table, BLOCKS[:variables], common, fresh_cache())
    link = to_link(to_text(whole.settings, ["measured"], blocks=whole.blocks))
    server = conftest.Server(str(place / "results"))
    try:
        app = Watched(browser.new_page(viewport=VIEW))
        app.page.goto(server.url + "/data")
        conftest.upload(app.page, str(file))
        app.page.goto(f"{server.url}/compare?settings={link}")
        app.page.get_by_role("button", name="Use them").click()
        conftest.settled(app.page)
        app.painted()
        times = [app.move("ArrowRight")[0] for _ in range(moves() // 2 + 1)]
    finally:
        server.stop()
    return Line(
        f"ε to exact picture, measured alone, n = {n:,}, {variables} public and {variables} sensitive variables",
        statistics.median(times),
        note=f"at most 5 s; slowest {max(times):.2f} s",
    )
