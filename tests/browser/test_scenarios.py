"""A decision in the room: state a rule, pin what is seen, move on, see both, switch back, leave a note."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, painted, settled

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def fill(page, label, value, role="spinbutton"):
    box = page.get_by_role(role, name=label, exact=True)
    box.fill(value)
    box.press("Enter")
    settled(page)


def pin(page, name):
    page.get_by_role("button", name=f"Pin as {name}").click()
    page.get_by_role("button", name=f"Pinned as {name}").wait_for()
    settled(page)


def open_panel(page, name):
    page.get_by_role("button", name=name, exact=True).click()
    settled(page)


def close_panel(page):
    page.keyboard.press("Escape")
    settled(page)


def pinned_then_moved(page):
    """Pin the first picture as A, and take c to 0.5."""
    first = painted(page)
    settled(page)
    pin(page, "A")
    fill(page, "Scale c, as a number", "0.5")
    painted(page, first)


@pytest.mark.journey
def test_a_rule_and_two_scenarios(new_page):
    page = new_page()
    first = painted(page)
    settled(page)
    expect(page.locator(".board .words").first).to_contain_text(
        re.compile(r"an intruder's suspicion of 1 % rises to \d+ %, the largest found for a changed value")
    )
    open_panel(page, "Rule")
    fill(page, "ε of all data sets together, at most", "5", "textbox")
    close_panel(page)
    expect(page.locator(".board .verdict")).to_have_text(["✗ fails", "✗ fails"])
    expect(page.locator(".board .words").first).to_contain_text(re.compile(r"^ε 2\d\.\d+ > 5\."))
    pin(page, "A")
    fill(page, "Scale c, as a number", "0.5")
    painted(page, first)
    settled(page)
    expect(page.locator(".board .verdict")).to_have_text(["✗ fails", "✓ passes"])
    expect(page.locator(".board .difference")).to_have_text([re.compile(r"^A → now: ε 8\.\d+ → 4\.\d+; ")])
    expect(page.get_by_text("c 1 → 0.5")).to_be_visible()
    names = page.evaluate(
        """() => [...document.querySelectorAll('.board .plot')].map(p => p.data.map(t => t.name))"""
    )
    assert all({"Weighted, A", "Weighted, now"} <= set(each) for each in names)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.reload()
    painted(page)
    settled(page)
    fill(page, "Shift g, as a number", "0.1")
    open_panel(page, "Rule")  # closed until now: it shows what is stored all the same
    limit = page.get_by_role("textbox", name="ε of all data sets together, at most")
    expect(limit).to_have_value("5")
    limit.fill("five")
    limit.press("Enter")
    page.get_by_text("five was not taken: it must lie between 0.01 and 1,000. It stays 5.").wait_for()
    settled(page)
    expect(limit).to_have_value("5")
    limit.fill("")  # emptied: any ε again
    limit.press("Enter")
    expect(page.locator(".board .verdict")).to_have_count(0)


@pytest.mark.long
def test_a_switch_sets_the_controls_back_and_a_note_becomes_the_reason(new_page):
    page = new_page()
    pinned_then_moved(page)
    settled(page)
    pin(page, "B")
    page.reload()
    painted(page)
    settled(page)
    page.get_by_role("button", name="Pinned as B").wait_for()
    page.get_by_test_id("stButtonGroup").get_by_text("A", exact=True).click()
    settled(page)
    version = painted(page)
    page.get_by_role("button", name="Switch to A").click()
    painted(page, version)
    settled(page)  # until then the old number box stands beside the new one
    expect(page.get_by_role("spinbutton", name="Scale c, as a number")).to_have_value("1.00")
    expect(page.locator("input[type=range]").first).to_have_value("1")
    page.get_by_role("button", name="Switch to B").wait_for()  # what was left stays beside
    settled(page)

    open_panel(page, "Scenarios")
    fill(page, "Note on scenario 1", "The room chose c = 1.", "textbox")
    fill(page, "Name of scenario 1", "B", "textbox")
    page.get_by_text("There is a scenario 'B' already.").wait_for()
    fill(page, "Name of scenario 1", "Papers", "textbox")
    page.get_by_role("button", name="Pinned as Papers").wait_for()
    settled(page)
    close_panel(page)
    open_panel(page, "Scenarios")
    names = [page.get_by_role("textbox", name=f"Name of scenario {i}").input_value() for i in (1, 2)]
    assert names == ["Papers", "B"]
    close_panel(page)
    follow(page, "Release")
    expect(page.get_by_label("Why these settings")).to_have_value("The room chose c = 1.")
