"""The privacy audit on the page Robustness, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, make_plan, settled, use_beta

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def open_audit(page):
    follow(page, "Robustness")
    page.get_by_role("radio", name="Privacy audit").click()
    settled(page)


def ask(page, runs):
    number = page.get_by_role("spinbutton", name="Runs on each table")
    number.fill(str(runs))
    number.press("Tab")
    settled(page)
    page.get_by_role("button", name="Run the audit").click()


@pytest.mark.long
def test_an_audit_runs_is_stopped_continued_and_saved(new_page):
    page = new_page("/data")
    use_beta(page, 80)
    open_audit(page)
    ask(page, 20_000)
    stop = page.get_by_role("button", name="Stop")
    stop.click()
    expect(page.get_by_text("Stopped; finished lines are kept.")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Remove Weighted").click()
    settled(page)
    ask(page, 1_000)
    expect(page.get_by_text("An audit can refute a claim, never prove it")).to_be_visible(timeout=120_000)
    settled(page)
    expect(page.get_by_text(re.compile("No claim is refuted")).first).to_be_visible()
    page.get_by_text("How it was done, and why each verdict").click()
    expect(page.get_by_text(re.compile("80 records; Beta"))).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Audit as CSV").click()
    assert waiting.value.suggested_filename == "audit-public-table.csv"
    with open(waiting.value.path(), encoding="utf-8") as stream:
        text = stream.read()
    assert text.count("Unweighted,none,one record") == 2


def test_a_plan_is_audited_for_its_public_report(new_page):
    page = new_page("/data")
    use_beta(page, 70)
    follow(page, "Release")
    make_plan(page, "simulated data", Series="audited")
    page.get_by_role("button", name="Another plan").wait_for(timeout=60_000)
    settled(page)
    open_audit(page)
    expect(page.get_by_role("combobox", name="What is audited")).to_have_value(re.compile("The plan of"))
    ask(page, 1_000)
    box = page.get_by_role("checkbox", name="Put this audit into the public report")
    page.get_by_text("An audit can refute a claim, never prove it").wait_for(timeout=120_000)
    settled(page)
    page.get_by_text("Put this audit into the public report").click()
    settled(page)
    expect(box).to_be_checked()
