"""What a user sees of a fault, and that the app goes on: in a real browser, on a disk that fills."""

import pytest
from playwright.sync_api import TimeoutError, expect

from tests.browser.conftest import Server, painted, settled
from tests.faults.scene import remount, small_disk

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def move(page, value):
    """A new c and its picture; what is typed while an older run ends can be overtaken by it: one types again."""
    version = page.locator(".board").get_attribute("data-painted")
    box = page.get_by_role("spinbutton", name="Scale c, as a number")
    for last in (False, False, False, True):
        box.fill(value)
        box.press("Enter")
        settled(page)
        try:
            painted(page, version, 60_000 if last else 20_000)
            break
        except TimeoutError:
            if last:
                raise
    settled(page)


@pytest.mark.parametrize(("options", "back", "words"), [("size=8k", "size=64m", "the disk is full"),
                         pytest.param("ro", "rw", "it is read-only", marks=pytest.mark.long)])  # fmt: skip
def test_results_that_cannot_be_kept_are_shown_and_said(chromium, tmp_path, options, back, words):
    with small_disk(tmp_path / "results", "64m") as disk:
        server = Server(str(disk), SYNTH_STATE_DIR=str(tmp_path / "state"))
        try:
            page = chromium.new_page()
            page.set_default_timeout(30_000)
            if options != "ro":
                remount(disk, options)
                page.goto(server.url)
            else:
                page.goto(server.url)
                painted(page)
                settled(page)
                remount(disk, options)
            painted(page)
            settled(page)
            move(page, "0.7")
            move(page, "0.6")
            notice = page.get_by_text(words)
            expect(notice).to_be_visible()
            expect(notice).to_contain_text("shown and not kept")
            remount(disk, back)
            move(page, "0.5")
            move(page, "0.4")
            expect(notice).to_have_count(0)
            page.close()
        finally:
            server.stop()
