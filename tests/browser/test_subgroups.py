"""Accuracy within groups of a predictor: a figure more, on the page and in a presentation."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import painted, pick, settled

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def test_a_figure_by_the_quarters_of_a_predictor(new_page):
    page = new_page()
    painted(page)
    settled(page)
    pick(page, "Accuracy by group of", "age")
    settled(page)
    card = page.locator("[data-figure=subgroups]")
    expect(card.locator("h3")).to_have_text("Accuracy: median by age")
    expect(card.locator(".ytick")).to_have_count(4)
    pick(page, "Statistic of the groups", "Error of the mean")
    settled(page)
    expect(card.locator("h3")).to_have_text("Accuracy: mean by age")
    card.get_by_role("button", name="Accuracy: mean by age: show as a table").click()
    expect(card.locator("tbody tr")).to_have_count(8)
    pick(page, "Accuracy by group of", "no predictor")
    settled(page)
    expect(card).to_have_count(0)
