"""A series in a real browser: the first month has a pilot, the second is anchored at the first month's release."""

import io
import os
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError, expect

from synth_core.data.examples import half_of, load_example
from tests.browser.conftest import confirm_charge, follow, make_plan, painted, pick, settled

pytestmark = [pytest.mark.browser, pytest.mark.stan]
PICTURES = os.environ.get("SERIES_PICTURES")  # a directory, to look at each step


def look(page, name):
    settled(page)
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(PICTURES) / f"series-{name}.png", full_page=True)


def plan_of_a_series(page, series):
    """Tuned on one half of the example, the draws of a release that must converge."""
    settled(page)
    page.get_by_text("First half", exact=True).click()
    settled(page)
    page.get_by_role("button", name="Use this example").click()
    page.get_by_text("401ksubs, half 1").first.wait_for()
    settled(page)
    page.locator("summary", has_text="Anchor of anchored censoring").click()
    settled(page)
    pick(page, "Anchor of anchored censoring", "What its series released before")
    look(page, "anchor")
    follow(page, "Compare")
    version = painted(page)
    settled(page)
    page.get_by_role("button", name="Presets").click()
    page.get_by_text("Strict below 1: anchored at ε = 0.5").click()
    settled(page)
    page.get_by_role("button", name="Use this preset").click()
    page.keyboard.press("Escape")
    version = painted(page, version)
    settled(page)
    page.get_by_text("Sampling", exact=True).click()
    page.get_by_label("Draws per chain").fill("4000")
    page.get_by_label("Draws per chain").press("Enter")
    painted(page, version)
    look(page, "compare")
    follow(page, "Release")
    make_plan(page, Series=series)
    page.get_by_role("button", name="Another plan").wait_for(timeout=120_000)
    expect(
        page.get_by_text("Each release is anchored at those before it, the first after a pilot.")
    ).to_be_visible()
    look(page, "plan")


def month(page, table, directory, label, anchor):
    """Check that a table is anchored as said, release it; the releasable archive's report."""
    path = directory / f"{label}.csv"
    table.to_csv(path, index=False)
    if not page.get_by_test_id("stFileUploader").first.is_visible():  # the month before is still on the desk
        page.locator("summary", has_text="2 · Table").click()
        page.locator("summary", has_text="Another table").click()
        settled(page)
    taken = page.get_by_text(re.compile(rf"To be released: \W*{label}\.csv")).filter(visible=True).first
    for last in (False, False, True):  # a run that was under way may swallow the choice
        page.get_by_test_id("stFileUploader").locator("input[type=file]").last.set_input_files(path)
        settled(page)
        try:
            taken.wait_for(timeout=10_000)
            break
        except TimeoutError:
            if last:
                raise
    settled(page)
    confirm_charge(page)
    settled(page)
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("No copies of confidential records").wait_for(timeout=120_000)
    expect(page.get_by_text(f"It is anchored at {anchor}")).to_be_visible()
    look(page, f"{label}-checked")
    page.get_by_role("button", name="Release", exact=True).click()
    page.get_by_role("button", name="May leave").wait_for(timeout=120_000)
    look(page, f"{label}-released")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="May leave").click()
    content = Path(waiting.value.path()).read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(next(n for n in archive.namelist() if n.endswith("report.html"))).decode()


def test_two_months(new_page, tmp_path):
    page = new_page("/data")
    attempt = int(
        tmp_path.name[-1]
    )  # run once more, the test finds neither its series nor its tables charged
    series = f"monthly-income-{attempt}"
    plan_of_a_series(page, series)
    half = half_of(load_example("401ksubs"), 2).frame
    half = half.assign(inc=half.inc * 1.1**attempt)
    rows = len(half) // 2
    anchors = (
        f"a pilot on {round(rows / 4)} of the {rows:,} records",
        f"the released data of release 1 of {series}",
    )
    for number, anchor in enumerate(anchors):
        assert anchor in month(page, half.iloc[number::2], tmp_path, f"month-{number + 1}", anchor)
    expect(page.get_by_test_id("stMetricValue")).to_have_text(["2", "1", "50", "49"])
    sums = re.compile(r"The limit counts the sum of ε\..*δ = 1e-06.*ρ is 0\.0625 in all")
    expect(page.get_by_text(sums)).to_be_visible()
