"""Undo, redo, the list of changes; a link that brings an example with its settings and scenarios."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, painted, settled, use_beta
from tests.browser.test_scenarios import close_panel, fill, pin

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def scale(page):
    return page.get_by_role("spinbutton", name="Scale c, as a number", exact=True)


def test_changes_are_taken_back_made_again_and_gone_to_by_name(new_page):
    page = new_page()
    painted(page)
    settled(page)
    fill(page, "Scale c, as a number", "0.5")
    fill(page, "Shift g, as a number", "0.1")
    page.get_by_role("button", name="Undo (2)").click()
    settled(page)
    page.get_by_role("button", name="Undo (1)").click()
    settled(page)
    expect(scale(page)).to_have_value("1.00")
    page.get_by_role("button", name="Redo (2)").click()
    settled(page)
    expect(scale(page)).to_have_value("0.50")
    page.get_by_role("button", name="Changes").click()
    settled(page)
    page.get_by_role("button", name="g 0 → 0.1").click()
    settled(page)
    expect(page.get_by_role("spinbutton", name="Shift g, as a number")).to_have_value("0.10")
    expect(page.get_by_role("button", name="Undo (2)")).to_be_enabled()


def test_a_link_opens_the_example_the_settings_and_the_scenarios(new_page, server):
    page = new_page("/data")
    use_beta(page, 400)
    follow(page, "Compare")
    painted(page)
    settled(page)
    fill(page, "Scale c, as a number", "0.7")
    pin(page, "A")
    page.get_by_role("button", name="Save, open, share settings").click()
    settled(page)
    link = page.locator("code", has_text=re.compile("with_example=")).inner_text()
    close_panel(page)
    other = new_page(link.strip().removeprefix(server.url))
    settled(other)
    expect(other.get_by_text("The link brings the example")).to_be_visible()
    other.get_by_role("button", name="Use them").click()
    settled(other)
    expect(other.get_by_text("example:beta").first).to_be_visible()
    expect(scale(other)).to_have_value("0.70")
    expect(other.get_by_role("button", name="Pinned as A")).to_be_visible()
    expect(other.get_by_text("400 records")).to_be_visible()
    assert "settings=" not in other.url
