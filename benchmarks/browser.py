"""Slider key to painted picture in a real Chromium: the app, and the floor of the same figures."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Line, comparison, fresh_cache

MOVES = 16


class Watched:
    """A page that counts what its server sends."""

    def __init__(self, page: Any):
        self.page = page
        self.received = 0
        page.on("websocket", lambda socket: socket.on("framereceived", self._count))

    def _count(self, payload: bytes | str) -> None:
        self.received += len(payload)

    def painted(self, old: str | None = None) -> str:
        """Wait for a fresh picture; its version."""
        self.page.wait_for_function(
            """old => { const b = document.querySelector('.board');
            return b && b.dataset.painted && b.dataset.painted !== old && !b.classList.contains('stale'); }""",
            arg=old,
            timeout=240_000,
        )
        return str(self.page.locator(".board").get_attribute("data-painted"))

    def moves(self, key: str, count: int = MOVES) -> tuple[list[float], list[int]]:
        """Seconds from a key on the first slider to the picture, and bytes received meanwhile."""
        times, sizes = [], []
        version = self.painted()
        for _ in range(count):
            before = self.received
            started = time.perf_counter()
            self.page.locator("input[type=range]").first.press(key)
            version = self.painted(version)
            times.append(time.perf_counter() - started)
            self.page.wait_for_timeout(350)  # the rest of the run, and the browser's own work
            sizes.append(self.received - before)
        return times, sizes


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser; None where there is none."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import CHROMIUM, FLAGS

    if CHROMIUM is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def use_beta(page: Any, url: str, n: int) -> None:
    """Choose the simulated beta example with n records, as a user does."""
    page.goto(url + "/data")
    page.get_by_role("combobox", name="Example").click()
    page.get_by_text("Simulated: Beta(0.5, 3)").click()
    page.get_by_text("Seed of the simulation").wait_for()
    page.get_by_label("Records").fill(str(n))
    page.get_by_label("Records").press("Enter")
    page.wait_for_timeout(800)
    page.get_by_role("button", name="Use this example").click()
    page.get_by_text("Variables of example:beta").wait_for()
    page.get_by_role("link", name="Compare", exact=True).first.click()


def picture_of(n: int) -> dict[str, Any]:
    """What the page Compare sends for the beta example: computed here by the same path, once."""
    from synth_core.comparison import Comparison
    from synth_core.examples import load_example
    from synth_core.figures.compare import compare_figures, results
    from synth_core.guarantees import explain
    from synth_core.points import find_mechanism
    from synth_core.settings import make_settings
    from synth_core.summaries import summarise

    settings = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), scale=0.9)
    compared = Comparison(load_example("beta", n), settings, fresh_cache())
    names = ["unweighted", "weighted"]
    found = [compared.run(name) for name in names]
    summaries = [summarise(each, compared.model.records.outcome) for each in found]
    labels = {name: find_mechanism(name).label for name in names}
    guarantees = {
        name: {
            "label": find_mechanism(name).guarantee.label,
            "strength": find_mechanism(name).guarantee.strength,
            "lines": explain(find_mechanism(name).guarantee, s["epsilon"], s["epsilon_replace"],
                             1, find_mechanism(name).weighted, "current", True),
        }
        for name, s in zip(names, summaries, strict=True)
    }  # fmt: skip
    figures = compare_figures(summaries, labels, "x")
    return {"results": results(summaries, labels, guarantees), "figures": figures}


def sampler_seconds(n: int) -> float:
    """The sampler's own time for the refit that a move asks for: two chains, median of nine."""
    from synth_core.examples import load_example

    compared = comparison(load_example("beta", n), fresh_cache(), chains=2)
    seconds = []
    for i in range(10):
        alpha = compared.model.records.outcome * 0 + 0.5 + 0.03 * i
        seconds.append(compared.fits.posterior(alpha)[0].seconds)
    return statistics.median(seconds[1:])


def browser(sizes: tuple[int, ...] = (2_000, 10_000)) -> list[Line]:
    """Median over 16 new settings, beside the floor and the sampler's own time, in one run."""
    from tests.browser.conftest import ROOT, Server

    rows: list[Line] = []
    results = tempfile.mkdtemp(prefix="synth-bench-")
    with chromium() as browser:
        if browser is None:
            return [Line("slider to picture in a browser", None, note="skipped: Chromium not found")]
        started = time.perf_counter()
        server = Server(results)
        answers = time.perf_counter() - started
        try:
            watched = Watched(browser.new_page(viewport={"width": 1440, "height": 900}))
            started = time.perf_counter()
            watched.page.goto(server.url)
            watched.painted()
            seconds = time.perf_counter() - started
            rows += [
                Line("start of the app to its first answer", answers),
                Line("first visit to the first picture, nothing stored", seconds),
            ]
            for n in sizes:
                use_beta(watched.page, server.url, n)
                watched.painted()
                watched.page.wait_for_timeout(1000)
                new, sent = watched.moves("ArrowLeft")
                cached, _ = watched.moves("ArrowRight")
                floor, floor_sent = _floor(browser, n, str(ROOT))
                sampler = sampler_seconds(n)
                total, base = statistics.median(new), statistics.median(floor)
                stored = statistics.median(cached[1:])
                rows += [
                    Line(f"floor: the same figures, nothing computed, n = {n:,}", base, to_floor=1.0,
                         note=f"{statistics.median(floor_sent) / 1024:.0f} KiB sent"),
                    Line(f"slider to the picture of a stored result, n = {n:,}", stored, to_floor=stored / base),
                    Line(f"slider to exact picture, 2 mechanisms, n = {n:,}", total,
                         to_floor=(total - sampler) / base,
                         note=f"without {sampler * 1000:.0f} ms of sampler; at most 2; slowest {max(new):.2f} s; "
                         f"{statistics.median(sent) / 1024:.0f} KiB sent"),
                ]  # fmt: skip
        finally:
            server.stop()
        server = Server(results)
        try:
            page = Watched(browser.new_page(viewport={"width": 1440, "height": 900}))
            started = time.perf_counter()
            page.page.goto(server.url)
            page.painted()
            rows.append(
                Line("first visit to the first picture, results stored", time.perf_counter() - started)
            )
        finally:
            server.stop()
    return rows


def _floor(browser: Any, n: int, root: str) -> tuple[list[float], list[int]]:
    from tests.browser.conftest import Server

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "picture.json"
        file.write_text(json.dumps(picture_of(n)))
        server = Server(place, app="benchmarks/floor_app.py", FLOOR_PICTURE=str(file),
                        PYTHONPATH=os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))  # fmt: skip
        try:
            watched = Watched(browser.new_page(viewport={"width": 1440, "height": 900}))
            watched.page.goto(server.url)
            watched.painted()
            watched.page.wait_for_timeout(500)
            return watched.moves("ArrowLeft")
        finally:
            server.stop()
