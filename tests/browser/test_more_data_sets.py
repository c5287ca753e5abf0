"""From an example to a release of measured tables, and two data sets more of it."""

import io
import zipfile

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import confirm_charge, follow, make_plan, painted, pick, settled

pytestmark = [pytest.mark.browser]


@pytest.mark.long
def test_two_data_sets_more_of_a_release_are_not_charged(new_page):
    page = new_page("/data")
    settled(page)
    page.get_by_text("Second half", exact=True).click()
    settled(page)
    page.get_by_role("button", name="Use this example").click()
    settled(page)
    follow(page, "Compare")
    version = painted(page)
    pick(page, "Mechanisms", "Measured, pure ε")
    painted(page, version)
    page.keyboard.press("Escape")  # an open list hides the links behind it
    settled(page)
    follow(page, "Release")
    make_plan(page, Series="later")
    page.get_by_role("button", name="Take the other half").click()
    confirm_charge(page)
    settled(page)
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("No copies of confidential records").wait_for(timeout=60_000)
    settled(page)
    page.get_by_role("button", name="Release", exact=True).click()
    page.get_by_role("button", name="May leave").wait_for(timeout=60_000)
    settled(page)
    spent = page.get_by_test_id("stMetricValue").all_inner_texts()
    box = page.get_by_role("spinbutton", name="How many")
    box.fill("2")
    box.press("Enter")
    settled(page)
    page.get_by_role("button", name="Draw them").click()
    page.get_by_text("More data sets were drawn of it: nothing more was charged.").wait_for(timeout=60_000)
    settled(page)
    assert page.get_by_test_id("stMetricValue").all_inner_texts() == spent
    expect(page.get_by_role("button", name="May leave")).to_have_count(2)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="data-sets-2-to-3").click()
    with open(waiting.value.path(), "rb") as stream:
        names = zipfile.ZipFile(io.BytesIO(stream.read())).namelist()
    assert [name for name in names if "synthetic_" in name and name.endswith(".csv")] == [
        f"later-001-data-sets-2-to-3/synthetic_{j}.csv" for j in (2, 3)
    ]
