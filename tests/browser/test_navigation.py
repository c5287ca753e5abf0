"""Six entries in the order of the work, old addresses, and the line that stands above every page."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, painted, pick, settled, upload

pytestmark = [pytest.mark.browser, pytest.mark.stan]

ENTRIES = ["Data", "Compare", "Find settings", "Robustness", "Release", "Help"]
MOVED = {  # old address: entry that is marked, words of what stood there
    "/compare": ("Compare", "Compose another"),
    "/model_check": ("Data", "Check the fit"),
    "/ranges": ("Compare", "From a × value"),
    "/explore": ("Find settings", "Find the settings"),
    "/studies": ("Robustness", "Run the study"),
    "/methods": ("Help", "Sensitive ranges"),
    "/own_program": ("Help", "The contract"),
}


def header(page):
    return page.locator(".st-key-header p").first


@pytest.mark.long
def test_old_addresses_lead_to_where_it_stands_now(new_page):
    page = new_page()
    base = page.url.rstrip("/")
    settled(page)
    top = page.get_by_test_id("stTopNavLink")
    expect(top).to_contain_text(ENTRIES)  # each with the name of its icon before it
    expect(top).to_have_count(len(ENTRIES))
    for old, (entry, words) in MOVED.items():
        page.goto(base + old)
        page.get_by_text(words).first.wait_for()
        settled(page)
        expect(page.locator("[data-testid=stTopNavLink][aria-current=page]")).to_contain_text(entry)
        expect(page.get_by_text(words).first).to_be_visible()
        expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)


def test_the_way_to_a_table_of_ones_own_shows_that_a_key_has_reached_it(new_page):
    page = new_page()
    settled(page)
    page.get_by_role("button", name="No tour").focus()
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Use my own table")
    expect(link).to_be_focused()
    expect(link).to_have_css("outline-style", "solid")


def test_the_line_says_what_is_in_use_on_every_page_and_never_goes(new_page, tmp_path):
    page = new_page("/data")
    expect(header(page)).to_have_text(
        "example:401ksubs (public data) · sensitive variable inc · Lognormal regression · "
        "density per unit of inc"
    )
    file = tmp_path / "mine.csv"
    file.write_text(
        "pay,grade\n" + "\n".join(f"{i % 50},{i % 3}" for i in range(200))
    )  # zeros: it cannot be fitted
    upload(page, file)
    pick(page, "Model", "Lognormal regression")
    settled(page)
    mine = "mine.csv (CONFIDENTIAL) · sensitive variable pay · Lognormal regression · density per unit of pay"
    for entry in ENTRIES:
        follow(page, entry)
        expect(header(page)).to_have_text(mine)
    follow(page, "Compare")
    page.get_by_text("values are zero or negative").wait_for()  # it has failed
    expect(header(page)).to_have_text(mine)
    follow(page, "Data")
    pick(page, "Model", "Two-part regression")
    settled(page)
    follow(page, "Compare")
    page.get_by_text("Sampling", exact=True).click()
    draws = page.get_by_label("Draws per chain")
    draws.fill("20000")
    draws.press("Enter")
    page.get_by_text("Refitting:").wait_for()  # it is computed
    expect(header(page)).to_have_text(mine.replace("Lognormal", "Two-part"))
    page.get_by_role("button", name="Cancel").click()


def test_the_way_to_my_own_table(new_page):
    page = new_page()
    painted(page)
    settled(page)
    page.get_by_role("link", name="Use my own table").click()
    page.get_by_text("The table is confidential").wait_for()
    expect(page.get_by_role("tab", name="Your file")).to_have_attribute("aria-selected", "true")


@pytest.mark.long
def test_settings_of_the_table_before_are_said_and_can_be_left(new_page, tmp_path):
    page = new_page()
    version = painted(page)
    box = page.get_by_role("spinbutton", name="Scale c, as a number")
    box.fill("0.35")
    box.press("Enter")
    painted(page, version)
    settled(page)
    follow(page, "Data")
    file = tmp_path / "mine.csv"
    file.write_text("pay,grade\n" + "\n".join(f"{1 + i * 0.37},{i % 3}" for i in range(200)))
    upload(page, file)
    page.get_by_text("Kept from the table before: scale c 0.35").wait_for()
    page.get_by_role("button", name="Start from the usual settings").click()
    page.get_by_text("Kept from the table before").wait_for(state="detached")
    follow(page, "Compare")
    painted(page)
    expect(box).to_have_value("1.00")
