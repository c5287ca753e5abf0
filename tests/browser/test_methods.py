"""The methods on the page Help: formulas are set, nothing is left as source, links lead to their sections."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import help_on, painted, settled

pytestmark = pytest.mark.browser


def test_formulas_are_set(new_page):
    page = new_page("/help?section=Methods", theme="dark")
    expect(page.get_by_role("heading", name="Sources", exact=True)).to_be_attached()
    expect(page.locator(".katex-display").first).to_be_attached()
    settled(page)
    content = page.locator(".stMainBlockContainer")
    assert page.locator(".katex").count() > 150
    assert page.locator(".katex-error").count() == 0
    assert "$" not in content.inner_text()
    assert "\\" not in content.inner_text()
    wider = page.evaluate(
        """() => [...document.querySelectorAll('.katex-display')]
          .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""
    )
    assert wider == []
    page.set_viewport_size({"width": 390, "height": 844})  # a phone's page cuts what is wider
    page.wait_for_timeout(300)
    ends = (
        "() => [...document.querySelectorAll('.stMarkdown table')].map(e => e.getBoundingClientRect().right)"
    )
    assert max(page.evaluate(ends)) <= 390


@pytest.mark.long
def test_it_is_found_in_the_navigation_and_its_contents_lead_on(new_page):
    """And the offer of the tour covers no page of the list."""
    page = new_page()
    settled(page)
    for width in (1440, 1380, 1360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        box = page.get_by_role("link", name="Help").first.bounding_box()
        offer = page.get_by_role("button", name="Take the tour").bounding_box()
        beside = box["x"] + box["width"] <= offer["x"] or box["y"] + box["height"] <= offer["y"]
        assert beside, (width, box, offer)
    painted(page)
    settled(page)
    page.get_by_test_id("stMain").evaluate("(e, top) => { e.scrollTop = top; }", offer["y"] - box["y"])
    over = page.get_by_role("button", name="Take the tour").bounding_box()
    place = {"x": over["x"] + over["width"] / 2, "y": over["y"] + over["height"] / 2}
    on_top = "({ x, y }) => document.elementFromPoint(x, y).closest('.st-key-tour_offer') === null"
    assert page.evaluate(on_top, place), "scrolled, it goes below the list"
    page.set_viewport_size({"width": 1440, "height": 900})
    help_on(page, "Methods")
    page.get_by_role("link", name="Utility", exact=True).first.click()  # of the contents; a page names it too
    expect(page.get_by_role("heading", name="Utility", exact=True)).to_be_in_viewport()
