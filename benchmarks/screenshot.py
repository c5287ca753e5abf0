"""`python -m benchmarks.screenshot`: the README's picture of the page Compare, as a new visitor sees it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, Server, painted, settled

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "compare.png"
WIDTH, HEIGHT = 1440, 900


def main() -> None:
    """Start the app, open Compare on the example that it starts with, and take the picture."""
    with tempfile.TemporaryDirectory() as results, sync_playwright() as playwright:
        server = Server(results, SYNTH_STATE_DIR=results, SYNTH_MECHANISMS="")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            page.goto(server.url)
            painted(page)
            page.locator(".board .headline tr.words").nth(2).wait_for(timeout=120_000)  # the last row
            painted(page)
            page.get_by_role("button", name="No tour").click()
            settled(page)
            page.mouse.move(WIDTH / 2, 5)
            page.wait_for_timeout(1000)  # until what the click opened has faded
            page.screenshot(path=PICTURE)
        finally:
            browser.close()
            server.stop()
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
