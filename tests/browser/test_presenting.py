"""Presenter mode: the picture alone, large enough for the last row, stepped through by keys."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import painted, resize, settled
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
    page.keyboard.press("ArrowRight")
    presented(page, "A", ["Privacy: how far each record can sway the result"])
    page.keyboard.press("PageDown")  # what was not pinned comes again, and is pinned by nobody
    presented(page, "Synthetic inc", ["Privacy: how far each record can sway the result"])
    expect(page.locator(".board .difference")).to_contain_text(["A → now: ε 8."])
    page.keyboard.press("ArrowUp")
    presented(page, "Synthetic inc", ["Accuracy: mean and percentiles"])
    for width, height in ((1920, 1080), (1280, 720)):
        resize(page, width, height)
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
    expect(page.get_by_role("button", name="Pin as B")).to_be_enabled()


def test_full_screen_does_not_cover_the_presentation(new_page):
    page = new_page()
    painted(page)
    settled(page)
    page.get_by_role("button", name="Present", exact=True).click()
    page.wait_for_function("() => document.fullscreenElement")
    page.wait_for_timeout(300)
    on_top = "() => document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest('.board.presenting') !== null"
    assert page.evaluate(on_top)
    page.get_by_role("button", name="End", exact=True).click()
    expect(page.locator(".board.presenting")).to_have_count(0)


OVERLAPS = """() => {
  const shown = (what) => [...document.querySelectorAll('.board.presenting ' + what)].filter(e => e.checkVisibility());
  const boxes = shown(':is(.stage-bar, .card, .stage-foot)').map(e => e.getBoundingClientRect());
  return { over: boxes.slice(1).filter((b, i) => b.top < boxes[i].bottom - 1).length,
    wide: document.querySelector('.board.presenting').scrollWidth > innerWidth,
    high: shown('.plot').every(p => p.clientHeight >= 250) }; }"""


def test_on_a_phone_the_figures_stand_below_each_other(new_page):
    page = new_page()
    pinned_then_moved(page)
    settled(page)
    resize(page, 390, 844)
    status = page.locator(".st-key-fits_status")  # all of its lines have room, as many as whole records need
    status.evaluate("e => e.querySelector('p').append(' of whole records'.repeat(9))")
    boxes = [each.bounding_box() for each in (status.locator("p"), status)]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"] + boxes[1]["height"] + 1
    page.locator(".board h3").first.click()
    said = page.locator(".board .words .said").first.bounding_box()
    assert said["x"] >= 0 and said["x"] + said["width"] <= 390
    page.keyboard.press("p")
    page.keyboard.press("f")
    expect(page.locator(".board.presenting .card:visible")).to_have_count(4)
    page.wait_for_timeout(300)
    assert page.evaluate(OVERLAPS) == {"over": 0, "wide": False, "high": True}


def test_rows_without_room_lose_their_sentences_and_no_line_is_cut(new_page):
    """The last row ended in the middle of a sentence, and at 1280 by 720 a third one was missing."""
    page = new_page()
    pinned_then_moved(page)
    settled(page)
    page.locator(".board h3").first.click()
    page.keyboard.press("p")
    expect(page.locator(".board.presenting .sentence:visible").first).to_be_visible()
    page.locator(".board .sentence").first.evaluate("e => e.append(' of whole records'.repeat(90))")
    # Of a row with a hint too: rows that failed kept whole paragraphs, and the one that was chosen had lost its own.
    hint = "e => e.insertAdjacentHTML('afterend', '<tr><td class=\"problem\">a hint</td></tr>')"
    page.locator(".board tr.words").first.evaluate(hint)
    resize(page, 1280, 720)
    expect(page.locator(".board.presenting .sentence:visible")).to_have_count(0)
    fits = "() => { const e = document.querySelector('.board .top'); return e.scrollHeight <= e.clientHeight + 1; }"
    assert page.evaluate(fits)
    expect(page.locator(".board.presenting .difference:visible").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".board .sentence").first).to_be_visible()
