"""Several sensitive variables: described on Data, seen together on Compare."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, painted, pick, resize, set_role, settled
from tests.browser.test_scenarios import close_panel, fill, open_panel, pin

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def add(page, name):
    set_role(page, name, "sensitive")


def test_marital_status_beside_income(new_page):
    page = new_page()
    painted(page)
    settled(page)
    follow(page, "Data")
    settled(page)
    add(page, "marr")  # it was a predictor
    expect(page.locator("tr[data-column=marr]")).to_contain_text("2. Multinomial logit regression")
    expect(page.get_by_role("spinbutton", name="Share of ε of marr, in %")).to_have_attribute(
        "placeholder", "50"
    )
    box = page.get_by_role("textbox", name="Declared categories, separated by commas")
    box.fill("0, 1")
    box.press("Enter")
    settled(page)
    follow(page, "Compare")
    painted(page)
    settled(page)
    heads = page.locator(".board .headline thead").inner_text()
    assert "As close as a sample of" in heads and "Associations off by" not in heads
    expect(page.locator(".board .words").first).to_contain_text(
        "bounds what withholding all that is sensitive"
    )
    expect(page.locator(".board .part")).to_have_count(0)
    page.get_by_role("button", name="Each variable", exact=True).click()
    expect(page.locator(".board .part")).to_have_count(4)
    expect(page.locator(".board .card h3").nth(3)).to_have_text(re.compile("the shares of one pair: "))
    decided_and_presented(page)


LIE_IN_EACH_OTHER = """() => {
  const shown = [...document.querySelectorAll('.board.presenting .plot')].find(e => e.checkVisibility());
  const boxes = (what) => [...shown.querySelectorAll(what)].map(e => e.getBoundingClientRect());
  const [plot] = boxes('.nsewdrag'), [legend] = boxes('.legend');
  const numbers = boxes('.cbaxis text').sort((a, b) => a.top - b.top);
  const torn = numbers.slice(1).map((each, i) => each.top < numbers[i].bottom - 2);
  return legend ? [legend.bottom > plot.top && legend.left < plot.right, ...torn] : torn; }"""


def decided_and_presented(page):
    """A rule over all variables, a scenario, the presenter and one record."""
    open_panel(page, "Rule")
    pick(page, "Accuracy of", "Distribution functions")
    settled(page)
    fill(page, "Largest gap, in percentage points", "0.01", "textbox")
    close_panel(page)
    verdicts = page.locator(".board .numbers .verdict")
    expect(verdicts).to_have_text(["✗ fails", "✗ fails"])
    expect(page.locator(".board .part").first).to_contain_text("✗ not within: ")
    pin(page, "A")
    first = painted(page)
    fill(page, "Scale c, as a number", "0.5")
    painted(page, first)
    settled(page)
    expect(page.locator(".board .difference")).to_have_text([re.compile(r"^A → now: ε [\d.]+ → [\d.]+; ")])
    expect(verdicts).to_have_text(["✗ fails", "✗ fails"])  # the rule is the session's
    page.locator(".board h3").first.click()
    page.keyboard.press("p")
    expect(page.locator(".stage-title")).to_have_text("Synthetic inc, marr")
    head = page.locator(".board td.sample").first.evaluate("td => getComputedStyle(td, '::before').content")
    assert head.startswith('"As close as a sample of'), head  # no number without its word
    expect(page.locator(".stage-note")).to_contain_text("Rule: distribution functions within 0.01 points")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".stage-title")).to_have_text("A")
    expect(page.locator(".stage-note")).to_contain_text("Rule: ")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".stage-title")).to_have_text("Synthetic inc, marr")
    resize(page, 1920, 1080)
    found = []
    for _ in range(4):  # the first time that each is seen
        page.keyboard.press("ArrowDown")
        page.wait_for_timeout(500)
        found += page.evaluate(LIE_IN_EACH_OTHER)
    assert len(found) > 2 and not any(found), found  # legends, and the numbers of a scale of colors
    page.keyboard.press("Escape")
    settled(page)
    fill(page, "Record inspector", "3")
    expect(page.get_by_text(re.compile(r"^Internal\. inc = [\d.]+, marr = [01]"))).to_be_visible()


def declare(page, label, text):
    box = page.get_by_role("textbox", name=label)
    box.fill(text)
    box.press("Enter")
    settled(page)


def with_marriage(new_page):
    """A page on Data with the example's income, and marriage as a sensitive variable beside it."""
    page = new_page()
    painted(page)
    settled(page)
    follow(page, "Data")
    settled(page)
    add(page, "marr")
    declare(page, "Declared categories, separated by commas", "0, 1")
    return page


@pytest.mark.long
def test_brackets_of_income_and_marital_status_around_noisy_counts(new_page):
    """A number by its brackets: refused in words, then declared; both variables anchored at noisy counts."""
    page = new_page()
    painted(page)
    settled(page)
    follow(page, "Data")
    settled(page)
    set_role(page, "marr", "not used")
    pick(page, "Model", "Ordered logit regression of brackets")
    settled(page)
    declare(page, "Edges of brackets, separated by commas", "0, ten, 20")
    expect(page.get_by_text("Edges are numbers, separated by commas")).to_be_visible()
    declare(page, "Edges of brackets, separated by commas", "0, 10, 20, 30, 40, 50, 60, 80, 100, 150, 1000")
    page.get_by_text("Anchor of anchored censoring: for a strict").click()
    settled(page)
    pick(page, "Anchor of anchored censoring", "Noisy counts of this table")
    settled(page)
    expect(page.get_by_text("Share of ε for the counts").first).to_be_visible()
    add(page, "marr")
    pick(page, "Model", "Multinomial logit regression")
    settled(page)
    declare(page, "Declared categories, separated by commas", "0, 1")
    expect(page.get_by_text("2 of 2 in the order of synthesis, given inc too")).to_be_visible()
    expect(page.get_by_text("Ready: 9,275 complete rows")).to_be_visible()


@pytest.mark.long
def test_epsilon_is_divided_by_what_is_asked_of_each_variable(new_page):
    """Asked below the pictures of whole records, looked for in the background, and cancelled."""
    page = with_marriage(new_page)
    follow(page, "Compare")
    painted(page)
    settled(page)
    panel = page.get_by_text("Divide ε by the accuracy asked of each variable")
    panel.click()
    expect(page.get_by_text("Choose a mechanism whose ε is set and not measured")).to_be_visible()
    pick(page, "Mechanisms", "Anchored")
    page.keyboard.press("Escape")  # the list stays open, and covers the page
    settled(page)
    button = page.get_by_role("button", name="Find the least ε")
    expect(button).to_be_visible(timeout=60_000)
    expect(button).to_be_disabled()
    box = page.get_by_role("textbox", name="Largest difference of marr")
    box.fill("2")
    box.press("Enter")
    expect(page.get_by_text("0.999")).to_be_visible()
    settled(page)
    expect(box).to_have_count(1)
    box.fill("0.1")
    box.press("Enter")
    settled(page)
    expect(button).to_be_enabled()
    button.click()
    expect(page.get_by_text(re.compile(r"division \d of 7")).first).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Cancel", exact=True).last.click()
    expect(page.get_by_text("Stopped; what was computed is kept.")).to_be_visible(timeout=60_000)
