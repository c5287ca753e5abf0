"""Presenter mode: the picture alone, large enough for the last row, stepped through by keys."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settled
from tests.browser.test_accessibility import grave
from tests.browser.test_scenarios import pinned_then_moved

pytestmark = [pytest.mark.browser, pytest.mark.stan]

SMALL = """() => [...document.querySelectorAll('.board.presenting *')]
  .filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
  .filter(e => parseFloat(getComputedStyle(e).fontSize) < 17.9)
  .map(e => `${e.className} ${e.textContent.slice(0, 40)}`)"""


def presented(page, title, figure):
    expect(page.locator(".stage-title")).to_have_text(title)
    expect(page.locator(".board.presenting .card:visible h3")).to_have_text(figure)


def test_scenarios_are_stepped_through_on_a_projector(new_page):
    page = new_page()
    pinned_then_moved(page)
    settled(page)
    numbers = page.locator(".board td.epsilon").all_inner_texts()
    page.locator(".board h3").first.click()
    page.keyboard.press("p")
    presented(page, "Synthetic inc", ["Privacy: how far each record can sway the result"])
    assert page.locator(".board td.epsilon").all_inner_texts() == numbers
    page.keyboard.press("ArrowRight")  # what is on screen is pinned first, so that nothing is lost
    presented(page, "A (1 of 2)", ["Privacy: how far each record can sway the result"])
    expect(page.locator(".board .difference")).to_contain_text(["B → A: ε 4."])
    page.keyboard.press("PageDown")
    presented(page, "B (2 of 2)", ["Privacy: how far each record can sway the result"])
    page.keyboard.press("ArrowUp")
    presented(page, "B (2 of 2)", ["Accuracy: mean and percentiles"])
    for width, height in ((1920, 1080), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        assert page.evaluate(SMALL) == []
    assert grave(page) == []
    page.keyboard.press("f")
    expect(page.locator(".board.presenting .card:visible")).to_have_count(4)
    assert page.evaluate(SMALL) == []
    page.keyboard.press("Escape")
    expect(page.locator(".board.presenting")).to_have_count(0)
    expect(page.get_by_role("button", name="Present", exact=True)).to_be_focused()
    assert page.locator(".board td.epsilon").all_inner_texts() == numbers
