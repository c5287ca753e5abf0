"""Slider key to painted picture in a real Chromium: the app, and the floor of the same figures."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Line, analysis, fresh_cache, sized
from synth_core.data.examples import load_example

VIEW = {"width": 1440, "height": 900}


def moves() -> int:
    """How often a slider is moved."""
    return sized(15, 2)


class Watched:
    """A page that counts what its server sends."""

    def __init__(self, page: Any):
        self.page = page
        self.received = 0
        page.on("websocket", lambda socket: socket.on("framereceived", self._count))

    def _count(self, payload: bytes | str) -> None:
        self.received += len(payload)

    def painted(self, old: str | None = None) -> str:
        """Wait for a fresh picture on the only board, for that of the page before may stay a moment; its version."""
        version = self.page.wait_for_function(
            """old => { const boards = document.querySelectorAll('.board'), b = boards[0];
            return boards.length === 1 && b.dataset.painted !== old && !b.classList.contains('stale')
                && b.dataset.painted; }""",
            arg=old,
            timeout=240_000,
        )
        return str(version.json_value())

    def move(self, key: str, slider: int = 0) -> tuple[float, int]:
        """Seconds from a key on a slider to the picture, and the bytes that it took."""
        version, before = self.painted(), self.received
        self.page.bring_to_front()  # a hidden page is not drawn
        started = time.perf_counter()
        self.page.locator("input[type=range]").nth(slider).press(key)
        self.painted(version)
        seconds = time.perf_counter() - started
        self.page.wait_for_timeout(350)  # the rest of the run, and the browser's own work
        return seconds, self.received - before


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
    from tests.browser import conftest

    page.goto(url + "/data")
    conftest.use_beta(page, n)
    page.get_by_role("link", name="Compare", exact=True).first.click()


def picture_of(n: int) -> dict[str, Any]:
    """What the page Compare sends for the beta example: computed here by the same path, once."""
    from synth_core.analysis.analysis import Analysis
    from synth_core.analysis.policy import Policy
    from synth_core.analysis.settings import make_settings
    from synth_core.analysis.summary import summary_of
    from synth_core.figures.compare import compare_figures, promises, results
    from synth_core.mechanisms.catalogue import find_mechanism

    settings = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), scale=0.9)
    compared = Analysis(load_example("beta", n), settings, fresh_cache())
    names = ["unweighted", "weighted"]
    summaries = [summary_of(compared, compared.run(name)) for name in names]
    labels = {name: find_mechanism(name).label for name in names}
    figures = compare_figures(summaries, labels, "x")
    return {
        "results": results(summaries, labels, promises(summaries, settings, Policy())),
        "figures": figures,
    }


def sampler_times(n: int) -> Iterator[float]:
    """The sampler's own time for the refit that a move asks for, two chains, new weights each time."""
    compared = analysis(load_example("beta", n), fresh_cache(), chains=2)
    for i in range(200):
        yield compared.fits.posterior(np.full(n, 0.5 + 0.002 * i))[0].seconds


@contextmanager
def floor_page(browser: Any, n: int) -> Iterator[Watched]:
    """The floor's own server and page."""
    from tests.browser.conftest import ROOT, Server

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "picture.json"
        file.write_text(json.dumps(picture_of(n)))
        server = Server(place, app="benchmarks/floor_app.py", FLOOR_PICTURE=str(file), PYTHONPATH=str(ROOT))
        try:
            watched = Watched(browser.new_page(viewport=VIEW))
            watched.page.goto(server.url)
            watched.painted()
            yield watched
        finally:
            server.stop()


def slider(browser: Any, app: Watched, n: int) -> list[Line]:
    """Moves of the app, of the floor and samplings in turn, so that all meet the same load of the machine."""
    new, sent, floor, floor_sent, samplings = [], [], [], [], []
    sampling = sampler_times(n)
    next(sampling)  # imports
    with floor_page(browser, n) as other:
        app.page.wait_for_timeout(1000)
        for _ in range(moves()):
            for page, times, sizes in ((other, floor, floor_sent), (app, new, sent)):
                seconds, size = page.move("ArrowLeft")
                times.append(seconds)
                sizes.append(size)
            samplings.append(next(sampling))
        stored = [app.move("ArrowRight")[0] for _ in range(moves())][1:]
        floor += [other.move("ArrowRight")[0] for _ in range(moves())]
    base, total, sampler = (statistics.median(each) for each in (floor, new, samplings))
    ratio = (total - sampler) / base
    return [
        Line(f"floor: the same figures, nothing computed, n = {n:,}", base, to_floor=1.0,
             note=f"{statistics.median(floor_sent) / 1024:.0f} KiB sent"),
        Line(f"slider to the picture of a stored result, n = {n:,}", statistics.median(stored),
             to_floor=statistics.median(stored) / base),
        Line(f"slider to exact picture, 2 mechanisms, n = {n:,}", total, to_floor=ratio,
             note=f"without {sampler * 1000:.0f} ms of sampler; at most 2; slowest {max(new):.2f} s; "
             f"{statistics.median(sent) / 1024:.0f} KiB sent"),
    ]  # fmt: skip


def add_anchored(page: Any) -> None:
    """Choose Anchored beside Unweighted and Weighted, with a guess for its pilot."""
    from tests.browser import conftest

    conftest.follow(page, "Data")
    page.locator("summary", has_text="Anchor of anchored censoring").click()
    for name, value in (("Half of all values lie between", "0.05"), ("and", "0.25")):
        conftest.settled(page)
        box = page.get_by_role("spinbutton", name=name, exact=True)
        box.fill(value)
        box.press("Enter")
    conftest.settled(page)
    conftest.follow(page, "Compare")
    conftest.pick(page, "Mechanisms", "Anchored")
    conftest.settled(page)


Measure = Callable[[Any, Watched, int], Iterable[Line]]


def _each_size(
    browser: Any, results: str, sizes: tuple[int, ...], measure: Measure, prepare: Callable[[Any], None]
) -> Iterator[Line]:
    """One app of its own, and what is measured of it with each number of records of the beta example.

    Parameters
    ----------
    prepare : callable
        Of the page, once the first picture is there: what it chooses stays.
    """
    from tests.browser.conftest import Server

    server = Server(results)
    try:
        app = Watched(browser.new_page(viewport=VIEW))
        for place, n in enumerate(sizes[: sized(len(sizes), 1)]):
            use_beta(app.page, server.url, n)
            app.painted()
            if not place:
                prepare(app.page)
            yield from measure(browser, app, n)
    finally:
        server.stop()


def anchored_slider(sizes: tuple[int, ...] = (2_000, 9_275)) -> Iterator[Line]:
    """Slider to picture beside the floor with unweighted, weighted and anchored: c moves one of them, ε another."""
    with tempfile.TemporaryDirectory() as results, chromium() as browser:
        if browser is None:
            yield Line("slider to picture with anchored", None, note="skipped: Chromium not found")
            return
        yield from _each_size(browser, results, sizes, _beside_floor, add_anchored)


def _beside_floor(browser: Any, app: Watched, n: int) -> Iterator[Line]:
    labels = [box.get_attribute("aria-label") for box in app.page.locator("input[type=range]").all()]
    sliders = {"c": 0, "ε": next(i for i, label in enumerate(labels) if "ε" in str(label))}
    times: dict[str, list[float]] = {name: [] for name in ("floor", *sliders)}
    with floor_page(browser, n) as floor:
        app.page.wait_for_timeout(1000)
        for _ in range(moves() // 2):
            times["floor"].append(floor.move("ArrowLeft")[0])
            for name, slider in sliders.items():
                times[name].append(app.move("ArrowLeft", slider)[0])
    base = statistics.median(times.pop("floor"))
    for name, found in times.items():
        middle = statistics.median(found)
        yield Line(f"{name} to exact picture, unweighted, weighted and anchored, n = {n:,}", middle,
                   to_floor=middle / base, note=f"floor {base:.2f} s; slowest {max(found):.2f} s")  # fmt: skip


def browser(sizes: tuple[int, ...] = (2_000, 10_000)) -> Iterator[Line]:
    """Slider to picture beside the floor; start of the app to the first picture."""
    from tests.browser.conftest import Server

    with tempfile.TemporaryDirectory() as results, chromium() as browser:
        if browser is None:
            yield Line("slider to picture in a browser", None, note="skipped: Chromium not found")
            return
        yield from _each_size(browser, results, sizes, slider, lambda page: None)
        returning, port = browser.new_context(viewport=VIEW), 0
        visits = ("nothing", "first"), ("all", "first"), ("all", "second"), ("all", "third")
        for stored, visit in visits[: sized(4, 1)]:
            started = time.perf_counter()
            server = Server(results, port=port)
            answers = time.perf_counter() - started
            port = server.port  # the browser knows an address with its port
            try:
                app = Watched(
                    (browser.new_context(viewport=VIEW) if visit == "first" else returning).new_page()
                )
                app.page.goto(server.url)
                app.painted()
                if visit != "second":  # which fills the browser's cache
                    yield Line(
                        f"start of the app to the first picture, {stored} stored, "
                        f"{'a browser that was here before' if visit == 'third' else 'a new browser'}",
                        time.perf_counter() - started,
                        note=f"the server answers after {answers:.1f} s",
                    )
                app.page.close()
            finally:
                server.stop()
