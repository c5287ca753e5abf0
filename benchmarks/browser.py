"""Slider key to painted picture, in a real Chromium, beside the floor of an unchanged refit."""

from __future__ import annotations

import statistics
import tempfile
import time

Row = tuple[str, str, str]


def _painted(page, old: str | None) -> str:
    page.wait_for_function(
        """old => { const b = document.querySelector('.board');
        return b && b.dataset.painted && b.dataset.painted !== old && !b.classList.contains('stale'); }""",
        arg=old,
        timeout=60_000,
    )
    return page.locator(".board").get_attribute("data-painted")


def _keys(page, key: str, count: int) -> list[float]:
    times = []
    version = page.locator(".board").get_attribute("data-painted")
    for _ in range(count):
        started = time.perf_counter()
        page.locator("input[type=range]").first.press(key)
        version = _painted(page, version)
        times.append(time.perf_counter() - started)
        page.wait_for_timeout(250)
    return times


def browser() -> list[Row]:
    """Median over 16 new settings; the floor is the same with every result cached."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import CHROMIUM, FLAGS, Server

    if CHROMIUM is None:
        return [("slider to picture in a browser", "skipped", "Chromium not found")]
    rows: list[Row] = []
    server = Server(tempfile.mkdtemp(prefix="synth-bench-"))
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = chromium.new_page(viewport={"width": 1440, "height": 900})
            started = time.perf_counter()
            page.goto(server.url)
            _painted(page, None)
            rows.append(
                (
                    "first picture of the example after the server answers",
                    f"{time.perf_counter() - started:.2f} s",
                    "",
                )
            )
            for title, label in (
                ("Simulated: Beta(0.5, 3)", "beta, n = 2,000"),
                (None, "401ksubs, n = 9,275"),
            ):
                if title:
                    page.goto(server.url + "/data")
                    page.get_by_role("combobox", name="Example").click()
                    page.get_by_text(title).click()
                    page.get_by_text("Seed of the simulation").wait_for()
                    page.get_by_role("button", name="Use this example").click()
                    page.get_by_text("Variables of example:beta").wait_for()
                else:
                    page.goto(server.url + "/data")
                    page.get_by_role("button", name="Use this example").click()
                    page.get_by_text("Variables of example:401ksubs").wait_for()
                page.get_by_role("link", name="Compare", exact=True).first.click()
                _painted(page, None)
                page.wait_for_timeout(500)
                new = statistics.median(_keys(page, "ArrowLeft", 16))
                cached = statistics.median(_keys(page, "ArrowRight", 16)[1:])
                if title:
                    assert new <= 0.4, new
                rows.append(
                    (
                        f"slider to exact picture, 2 mechanisms, {label}",
                        f"{new * 1000:.0f} ms",
                        f"{new / cached:.1f}x the floor of {cached * 1000:.0f} ms",
                    )
                )
            chromium.close()
    finally:
        server.stop()
    return rows
