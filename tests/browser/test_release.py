"""From 401ksubs to two archives in a real browser; finished runs, settings, undo."""

import io
import re
import zipfile

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import confirm_charge, follow, make_plan, painted, settled

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def saved(page, button):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    with open(waiting.value.path(), "rb") as stream:
        return waiting.value.suggested_filename, stream.read()


def plan_on_the_first_half(page, series):
    settled(page)
    page.get_by_text("First half", exact=True).click()
    settled(page)
    page.get_by_role("button", name="Use this example").click()
    settled(page)
    page.get_by_text("401ksubs, half 1").first.wait_for()
    follow(
        page, "Compare"
    )  # a release has a seed of its own: with 1,000 draws one of 150 misses the R-hat of 1.01
    version = painted(page)
    settled(page)
    page.get_by_text("Sampling", exact=True).click()
    box = page.get_by_label("Draws per chain")
    box.fill("4000")
    box.press("Enter")
    painted(page, version)
    follow(page, "Release")
    settled(page)
    expect(page.get_by_text("Planned on the table in use, example:401ksubs, half 1").first).to_be_visible()
    page.get_by_role("spinbutton", name="Target ε").fill("25")
    page.get_by_role("spinbutton", name="Target ε").press("Tab")
    why = "tuned on <b>half</b> [one](javascript:alert(1))"
    make_plan(page, Series=series, **{"Why these settings": why})
    page.get_by_role("button", name="Another plan").wait_for(timeout=60_000)
    settled(page)


@pytest.mark.journey
def test_from_the_example_to_two_archives(new_page):
    page = new_page("/data")
    plan_on_the_first_half(page, "browser-income")
    expect(page.get_by_text("tuned on <b>half</b> [one](javascript:alert(1))")).to_be_visible()  # as text
    name, plan = saved(page, "Plan (JSON, internal)")
    assert name == "browser-income-plan.json"
    assert b'"target_epsilon": 25.0' in plan and b'"alternatives"' in plan  # what Compare showed
    name, record = saved(page, "Record of the decision (HTML)")
    assert (
        name == "browser-income-decision.html"
        and b"Against which alternatives" in record
        and b"chosen" in record
    )
    page.get_by_role("button", name="Take the other half").click()
    settled(page)
    release = page.get_by_role("button", name="Release", exact=True)
    expect(release).to_have_count(0)  # the checks first
    check = page.get_by_role("button", name="Check", exact=True)
    expect(check).to_be_disabled()  # a charge is confirmed
    confirm_charge(page)
    settled(page)
    whole = page.viewport_size
    page.set_viewport_size(whole | {"height": 420})
    check.click()
    under_way = page.get_by_role("progressbar").first
    under_way.wait_for()
    page.get_by_text("5 · Ledger").last.scroll_into_view_if_needed()
    expect(under_way).to_be_in_viewport()  # however far down its button is
    page.set_viewport_size(whole)
    page.get_by_text("No copies of confidential records").wait_for(timeout=60_000)
    settled(page)
    release.click()
    page.get_by_role("button", name="May leave").wait_for(timeout=60_000)
    settled(page)
    expect(page.get_by_text("ε = 25 charged")).to_be_visible()
    name, content = saved(page, "May leave")
    assert name == "browser-income-001-releasable.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        lines = archive.read("browser-income-001/synthetic_1.csv").decode().splitlines()
    assert lines[0] == "inc,age,marr,male,fsize,e401k"
    assert len(lines) == 4639
    assert saved(page, "INTERNAL, stays")[0] == "browser-income-001-INTERNAL.zip"
    expect(page.get_by_test_id("stMetricValue")).to_have_text(["1", "25", "50", "25"])
    page.reload()  # the desk survives
    page.get_by_role("button", name="May leave").wait_for(timeout=60_000)
    settled(page)
    expect(page.locator("p:visible", has_text="series browser-income: 25 left of 50").first).to_be_visible()
    page.get_by_role("button", name="Make them again").click()  # it is paid for: nothing is to be confirmed
    page.get_by_text("nothing more was charged").wait_for(timeout=60_000)
    stranger = new_page("/release")  # another browser sees neither plan, archives nor runs
    stranger.get_by_role("button", name="Make the plan").wait_for()
    expect(stranger.get_by_role("button", name="May leave")).to_have_count(0)
    stranger.get_by_role("tab", name="Finished runs").click()
    stranger.get_by_text("None yet").wait_for()


def test_a_cancelled_plan_can_be_made_when_asked_again(new_page):
    page = new_page("/data")
    settled(page)
    page.get_by_role("button", name="Use this example").click()
    settled(page)
    page.goto(page.url.replace("/data", "/release"))
    settled(page)
    make = page.get_by_role("button", name="Make the plan")
    make_plan(page, Series="again")
    cancel, made = page.get_by_role("button", name="Cancel"), page.get_by_role("button", name="Another plan")
    cancel.or_(made).wait_for()
    if cancel.is_visible():
        cancel.click()
        settled(page)
        make.or_(made).wait_for()  # a plan that was finished as the button went down stays
        if make.is_visible():
            expect(page.get_by_text("Cancelled: no plan was made.")).to_be_visible()
            make.click()
            expect(page.get_by_text("Cancelled: no plan was made.")).to_have_count(0)
    made.wait_for(timeout=60_000)


def test_a_hostile_plan_is_refused_in_words(new_page, tmp_path):
    page = new_page("/release")
    settled(page)
    page.get_by_role("tab", name="Open a plan").click()
    path = tmp_path / "plan.json"
    path.write_text('{"format": "synth-core-plan", "version": 1, "<img src=x onerror=alert(1)>": 1}')
    page.locator("input[type=file]").first.set_input_files(path)
    settled(page)
    page.get_by_role("button", name="Use this plan").click()
    settled(page)
    message = page.get_by_test_id("stAlert").first
    assert "plan" in message.inner_text()
    expect(page.locator("img[src=x]")).to_have_count(0)


def test_runs_are_kept_and_settings_undone_and_shared(new_page):
    page = new_page()
    version = painted(page)
    number = page.get_by_role("spinbutton", name="Scale c, as a number")
    slider = page.locator("input[type=range]").first
    for _ in range(2):
        slider.focus()
        slider.press("ArrowLeft")
        version = painted(page, version)
    expect(number).to_have_value("0.90")
    page.get_by_role("button", name="Save, open, share settings").click()
    link = page.get_by_test_id("stCode").inner_text().strip()
    page.keyboard.press("Escape")
    for expected in ("0.95", "1.00"):
        page.get_by_role("button", name=re.compile("^.*Undo")).click()
        version = painted(page, version)
        settled(page)  # until the run has ended, the box of before stands beside the one that replaces it
        expect(number).to_have_value(expected)
    page.goto(link)
    page.get_by_role("button", name="Use them").click()
    painted(page, version)
    settled(page)
    expect(number).to_have_value("0.90")
    follow(page, "Release")
    page.get_by_role("tab", name="Finished runs").click()
    page.get_by_role("button", name="Use these settings again").wait_for()
    chosen = page.get_by_role("combobox", name="Finished run").input_value()
    assert re.match(r"(Unw|W)eighted, ε = \d", chosen)
