"""Several sensitive variables: described on Data, seen together on Compare."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, painted, pick, settled

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def add(page, name):
    page.get_by_text("More sensitive variables: release whole records").click()
    settled(page)
    pick(page, "Another sensitive variable", name)
    settled(page)
    page.get_by_role("button", name="Add", exact=True).click()
    settled(page)


def test_marital_status_beside_income(new_page):
    page = new_page()
    painted(page)
    settled(page)
    follow(page, "Data")
    settled(page)
    page.get_by_role("button", name="Remove marr").click()
    settled(page)
    add(page, "marr")
    expect(page.get_by_text("2. marr")).to_be_visible()
    expect(page.get_by_text("50 % of ε").first).to_be_visible()
    box = page.get_by_role("textbox", name="Declared categories, separated by commas")
    box.fill("0, 1")
    box.press("Enter")
    settled(page)
    follow(page, "Compare")
    painted(page)
    settled(page)
    heads = page.locator(".board .headline thead").inner_text()
    assert "As close as a sample of" in heads and "Associations off by" in heads
    expect(page.locator(".board .words").first).to_contain_text(
        "bounds what withholding all that is sensitive"
    )
    expect(page.locator(".board .part")).to_have_count(0)
    page.get_by_role("button", name="Each variable", exact=True).click()
    expect(page.locator(".board .part")).to_have_count(4)
    expect(page.locator(".board .card h3").nth(3)).to_have_text(re.compile("the shares of one pair: "))
