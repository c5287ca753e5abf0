"""Find settings in a real browser: a map that fills, inverse tuning, a point loaded into Compare."""

import csv

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, painted, settled
from tests.browser.test_mechanisms import compare_beta

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def number(page, label, value):
    box = page.get_by_label(label, exact=True).first
    box.fill(str(value))
    box.press("Enter")
    settled(page)


def explore_beta(page, steps=None):
    """A small table and the page Find settings, with few steps or with those it starts from."""
    compare_beta(page, 200)
    settled(page)
    follow(page, "Find settings")
    page.get_by_role("button", name="Fill the map").wait_for()
    settled(page)
    for i in (0, 1) if steps else ():  # c and the target epsilon
        box = page.get_by_label("steps", exact=True).nth(i)
        box.fill(str(steps))
        box.press("Enter")
        settled(page)


def dots(page):
    return page.locator('[data-figure="map"] .scatterlayer .trace .point')


def filled(page, points):
    page.get_by_text(f"{points} points, each an exact refit").wait_for(timeout=60_000)
    painted(page)
    settled(page)


def test_a_map_fills_a_target_is_reached_and_a_point_goes_to_compare(new_page):
    page = new_page("/data")
    explore_beta(page, 3)
    page.get_by_role("button", name="Fill the map: 10 points").click()
    page.get_by_text("of 10 points").wait_for()
    page.locator('[data-figure="map"] .point').first.wait_for()
    page.evaluate("""() => { document.querySelector('[data-figure="map"] .plot').dataset.mine = 'kept'; }""")
    filled(page, 10)
    # The same node from the first point to the last: nothing was mounted anew, so nothing flashed.
    assert page.locator('[data-figure="map"] .plot').get_attribute("data-mine") == "kept"
    assert 10 <= dots(page).count() <= 20  # a frontier marks its points once more
    expect(page.get_by_text("asymptotic DP: frontier")).to_be_visible()
    expect(page.get_by_text("Unweighted (no guarantee)")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Points as CSV (internal)").click()
    with open(download.value.path()) as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 10
    assert all(row["guarantee"] and float(row["epsilon"]) > 0 for row in rows)

    number(page, "Difference ≤", 0.2)
    page.get_by_role("button", name="Find the settings").click()
    page.get_by_text("fresh data sets meet it").wait_for(timeout=60_000)
    answer = page.get_by_text(
        "Largest difference of the distribution functions at most 0.2 in 90 % of data sets"
    )
    assert "(asymptotic DP) with" in answer.first.inner_text()
    assert answer.first.bounding_box()["y"] < 320  # above the picture

    box = dots(page).last.bounding_box()  # the answer's star lies on top of all
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_timeout(300)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    load = page.locator(".st-key-load_point button")
    load.wait_for()
    shown = page.locator("h3", has_text="ε = ")
    clicked = shown.inner_text()
    choice = page.get_by_role("combobox", name="Point")  # the same by keyboard
    choice.focus()
    choice.press("ArrowDown")
    page.get_by_role("option").first.wait_for()
    choice.press("Home")
    choice.press("Enter")
    page.wait_for_function(
        """old => { const now = [...document.querySelectorAll('h3')].map(h => h.innerText);
        return !now.includes(old) && now.some(text => text.startsWith('ε = ')); }""",
        arg=clicked,
    )
    settled(page)
    epsilon = shown.inner_text().split("=")[1].strip()
    load.click()
    page.get_by_role("button", name="Compose another").wait_for()
    painted(page)
    there = page.locator(".board td.epsilon").all_inner_texts()
    assert any(abs(float(text) - float(epsilon)) < 0.006 for text in there), (epsilon, there)
    follow(page, "Find settings")
    page.get_by_text("fresh data sets meet it").wait_for()  # the map and the answer are still there
    painted(page)
    assert dots(page).count() >= 10


def test_bad_settings_are_said_and_a_stopped_map_goes_on(new_page):
    page = new_page("/data")
    explore_beta(page)
    number(page, "to", 0.05)
    page.get_by_text("is larger than to").wait_for()
    expect(page.get_by_role("button", name="Fill the map")).to_have_count(0)
    number(page, "to", 1.9)
    page.get_by_role("button", name="Fill the map: 40 points").click()
    page.get_by_text("of 40 points").first.wait_for()
    page.locator('[data-figure="map"] .point').first.wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("what is finished is kept").wait_for()
    before = int(page.get_by_text("what is finished is kept").inner_text().split(" with ")[1].split()[0])
    assert 0 < before < 40
    settled(page)
    page.reload()  # the browser's map is found again
    page.get_by_text("what is finished is kept").wait_for()
    settled(page)
    page.get_by_role("button", name="Continue", exact=True).click()
    filled(page, 40)
    assert dots(page).count() >= 38  # a point that has not converged is hollow, and there
