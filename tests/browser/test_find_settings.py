"""Find settings in a real browser: a map that fills, inverse tuning, a point loaded into Compare."""

import csv
import re

import pytest
from playwright.sync_api import expect

from synth_core.experiments.rivals import map_runs
from tests.browser.conftest import follow, painted, pick, settled
from tests.browser.test_mechanisms import compare_beta
from tests.browser.test_whole_records import with_marriage

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def number(page, label, value):
    box = page.get_by_label(label, exact=True).first
    box.fill(str(value))
    box.press("Enter")
    settled(page)


def explore_beta(page, steps=None, rows=200):
    """A small table and the page Find settings, with few steps or with those it starts from."""
    compare_beta(page, rows)
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
    explore_beta(page, 3, rows=230)  # of which no other test has computed points
    page.get_by_role("button", name="Fill the map: 10 points").click()
    page.get_by_text(re.compile("of 10 points|10 points, each")).first.wait_for()  # it may be filled at once
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

    number(page, "Difference ≤, in points", 20)
    page.get_by_role("button", name="Find the settings").click()
    page.get_by_text("fresh data sets meet it").wait_for(timeout=60_000)
    answer = page.get_by_text(
        "Largest difference of the distribution functions at most 20 points in 90 % of data sets"
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


@pytest.mark.long
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


def added_beside_the_map(page, button):
    """Press the button that runs other synthesizers, wait for them, and find the legend of the map."""
    version = page.locator(".board").get_attribute("data-painted")
    button.click()
    page.get_by_text("Beside the map, 5 runs each").wait_for(timeout=60_000)
    painted(page, version)
    settled(page)
    return page.locator('[data-figure="map"] .legend3')


@pytest.mark.long
def test_other_synthesizers_stand_beside_the_map(new_page):
    """Histograms and a sample at the epsilons of the strict frontier; they are no answer and cannot be picked."""
    page = new_page("/data")
    explore_beta(page, 3)
    page.get_by_text("Other synthesizers beside it").click()
    if not map_runs.installed("mst"):
        page.get_by_text("MST and AIM can stand here once the server has them").wait_for()
    for name in ("Histogram of all cells", "Sample of 10 %"):
        pick(page, "Synthesizers that are not ours", name)
        settled(page)
    page.keyboard.press("Escape")
    expect(page.get_by_text("as the histogram has them between the declared bounds")).to_be_visible()
    expect(page.get_by_text("A coarse map to begin with:")).to_be_visible()  # nobody asked for it
    page.get_by_role("button", name="Fill the map: 10 points").click()
    filled(page, 10)
    expect(page.get_by_text("The map has no point with a strict guarantee")).to_be_visible()
    pick(page, "Mechanisms", "Histogram")
    settled(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Fill the map: 13 points").click()
    filled(page, 13)
    add = page.get_by_role("button", name="Add to the map")
    runs = int(add.inner_text().split(": ")[1].split()[0])
    assert runs in (
        5 + 5 * 1,
        5 + 5 * 2,
        5 + 5 * 3,
    )  # the sample once, the histogram at each ε of the frontier
    legend = added_beside_the_map(page, add)
    expect(legend.get_by_text("Histogram of all cells (zCDP, ρ = ε²/8)")).to_be_visible()
    expect(legend.get_by_text("Sample of 10 % (no guarantee)")).to_be_visible()
    expect(page.get_by_text("They cannot be released here").first).to_be_visible()
    expect(add).to_be_disabled()
    page.get_by_role("button", name="Table").first.click()
    others = page.locator("tr", has_text="another synthesizer")
    assert others.count() == runs / 5
    expect(others.last).to_contain_text("mean ± 2 standard errors of 5 runs")

    page.reload()  # they are found again, as the map is
    page.get_by_text("Beside the map, 5 runs each").wait_for()
    painted(page)
    number(page, "Runs of each, at each ε", 6)
    expect(page.get_by_role("button", name=f"Add to the map: {runs + runs // 5} runs")).to_be_enabled()
    box = page.get_by_role("textbox", name="Edges of their bins")
    box.fill("0, 0.5, 0.2")
    box.press("Enter")
    expect(page.get_by_text("must be three or more finite numbers that ascend")).to_be_visible()
    box.fill("0, 0.1, 0.2, 0.5, 1")
    box.press("Enter")
    expect(page.get_by_text("4 from 0 to 1, as declared here")).to_be_visible()


@pytest.mark.long
def test_other_synthesizers_stand_beside_the_map_of_whole_records(new_page):
    """At the epsilons of the strict frontier, with the rho that the fits of both variables spend together."""
    page = with_marriage(new_page)
    follow(page, "Find settings")
    page.get_by_role("button", name="Fill the map").wait_for()
    settled(page)
    pick(page, "Mechanisms", "Censored")
    settled(page)
    page.keyboard.press("Escape")
    for i in (0, 1):
        box = page.get_by_label("steps", exact=True).nth(i)
        box.fill("2")
        box.press("Enter")
        settled(page)
    page.get_by_text("Other synthesizers beside it").click()
    for name in ("Histogram of all cells", "Histogram of each variable"):
        pick(page, "Synthesizers that are not ours", name)
        settled(page)
    page.keyboard.press("Escape")
    expect(page.get_by_text("Cells of marr: its 2 declared categories.")).to_be_visible()
    page.get_by_role("button", name="Fill the map").click()
    filled = page.get_by_text("points, each an exact refit")  # and not the map that began by itself
    filled.filter(has_not_text=re.compile("coarse map|choices have changed")).wait_for(timeout=300_000)
    painted(page)
    settled(page)
    more = page.get_by_role("button", name="Add to the map")
    legend = added_beside_the_map(page, more)
    expect(legend.get_by_text("Histogram of all cells (zCDP, ρ = Σ εₖ²/8)")).to_be_visible()
    expect(legend.get_by_text("Histogram of each variable (zCDP, ρ = Σ εₖ²/8)")).to_be_visible()
    expect(more).to_be_disabled()
