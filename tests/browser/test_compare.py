"""The main job in a real browser: load, drag, see exact refits; survive reloads; keep apart."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from synth_core.system.number_text import ceiling
from tests.browser.conftest import Server, follow, painted, pick, set_role, settled, upload
from tests.cli.test_cli import cli

pytestmark = [pytest.mark.browser, pytest.mark.stan]

SHAPES = """() => [...document.querySelectorAll('.board .plot')].map(p =>
  JSON.stringify(p.data.map(t => [t.x, t.y])))"""


def epsilons(page):
    return [float(t.split()[0]) for t in page.locator(".board td.epsilon").all_inner_texts()]


def slider(page, index=0):
    return page.locator("input[type=range]").nth(index)


def test_a_newcomer_sees_the_example_fitted_without_a_click(new_page):
    """And each figure has its table; a press on a name lifts it out of every figure."""
    page = new_page(theme="dark")
    painted(page)
    expect(page.get_by_text("example:401ksubs")).to_be_visible()
    unweighted, weighted = epsilons(page)
    assert weighted < unweighted
    badges = page.locator(".board .badge").all_inner_texts()
    assert badges == ["no guarantee", "asymptotic DP"]
    expect(page.locator(".board .card")).to_have_count(4)
    expect(page.locator(".board .tag")).to_have_text(["internal"] * 4)
    # the answer is visible without scrolling, and nothing sticks out
    box = page.locator(".board").bounding_box()
    assert box["y"] + box["height"] <= 900
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    labels = [p.get_attribute("aria-label") for p in page.locator(".board .plot").all()]
    assert all(len(label) > 40 for label in labels)

    card = page.locator('[data-figure="quantiles"]')
    card.locator("button.show").click()
    cells = card.locator("td").all_inner_texts()
    assert "90th percentile" in cells
    card.locator("button.show").click()
    expect(card.locator(".plot")).to_be_visible()
    buttons = card.locator(".modebar-btn").evaluate_all("all => all.map(b => b.dataset.title)")
    assert 0 < len(buttons) <= 4
    assert not [b for b in buttons if "hare" in b or "loud" in b]  # nothing that sends data away

    faint = """() => [...document.querySelectorAll('.board .plot')].map(p =>
      p.data.filter(t => (t.opacity ?? 1) < 0.5).map(t => t.meta))"""
    assert page.evaluate(faint) == [[], [], [], []]
    page.get_by_role("button", name="Weighted", exact=True).click()
    assert all(set(each) == {"unweighted"} for each in page.evaluate(faint))
    page.get_by_role("button", name="Weighted", exact=True).click()
    assert page.evaluate(faint) == [[], [], [], []]


@pytest.mark.journey
def test_numbers_of_the_command_line_a_dragged_c_and_a_long_refit_that_is_cancelled(new_page):
    """Dragging c changes Δ and all four figures in place."""
    page = new_page()
    version = painted(page)
    done = cli("compare", "example:401ksubs", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert epsilons(page) == [float(ceiling(r["epsilon"], 2)) for r in json.loads(done.stdout)["results"]]
    page.evaluate("document.querySelectorAll('.board .plot').forEach((p, i) => p.mark = i)")
    before, epsilon = page.evaluate(SHAPES), epsilons(page)
    slider(page).focus()
    slider(page).press("ArrowLeft")
    painted(page, version)
    after = page.evaluate(SHAPES)
    assert len(before) == 4
    assert all(a != b for a, b in zip(before, after, strict=True))
    assert epsilons(page)[0] == epsilon[0]  # c does not move the unweighted synthesizer
    assert epsilons(page)[1] < epsilon[1]
    expect(page.get_by_role("spinbutton", name="Scale c, as a number")).to_have_value("0.95")
    marks = page.evaluate("[...document.querySelectorAll('.board .plot')].map(p => p.mark)")
    assert marks == [0, 1, 2, 3]  # the same nodes: nothing was remounted, nothing flashed

    settled(page)
    page.get_by_text("Sampling", exact=True).click()
    draws = page.get_by_label("Draws per chain")
    draws.fill("20000")
    draws.press("Enter")
    page.get_by_text("Refitting:").wait_for()
    expect(page.locator(".board")).to_contain_class("stale")
    expect(page.locator(".board .card")).to_have_count(4)  # the last finished picture stays
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled.").wait_for()
    draws = page.get_by_label("Draws per chain")
    draws.fill("1000")
    draws.press("Enter")
    page.wait_for_function("() => !document.querySelector('.board').classList.contains('stale')")


def test_zoom_is_kept_while_values_change_and_the_slider_follows_a_typed_number(new_page):
    page = new_page()
    version = painted(page)
    plot = page.locator('[data-figure="ecdf"] .plot')
    area = plot.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(area["x"] + 60, area["y"] + 30)
    page.mouse.down()
    page.mouse.move(area["x"] + 260, area["y"] + 120, steps=5)
    page.mouse.up()
    read = "() => document.querySelector('[data-figure=ecdf] .plot').layout.xaxis.range"
    page.wait_for_function(read.replace(".range", ".autorange !== true"))
    zoomed = page.evaluate(read)
    slider(page).focus()
    slider(page).press("ArrowLeft")
    version = painted(page, version)
    assert page.evaluate(read) == zoomed
    settled(page)
    box = page.get_by_role("spinbutton", name="Scale c, as a number")
    box.fill("0.5")
    box.press("Enter")
    painted(page, version)
    expect(slider(page)).to_have_value("0.5")


@pytest.mark.long
def test_a_file_can_be_fetched_while_refits_run(new_page):
    """A file that is made anew keeps its address until the button has another: none is answered with 404."""
    page = new_page()
    painted(page)
    box, button = (
        page.get_by_role("spinbutton", name="Scale c, as a number"),
        page.get_by_role("button", name="Results as CSV").first,
    )
    for scale in ("0.45", "0.7", "0.95"):
        box.fill(scale)
        box.press("Enter")
        for wait in (0, 300, 700):
            page.wait_for_timeout(wait)
            with page.expect_download() as waiting:
                button.click()
            assert Path(waiting.value.path()).read_text(encoding="utf-8-sig").startswith("mechanism")


def test_choices_survive_a_page_switch_and_a_reload(new_page):
    page = new_page()
    version = painted(page)
    box = page.get_by_label("Shift g, as a number")
    box.fill("0.25")
    box.press("Enter")
    painted(page, version)
    chosen = epsilons(page)
    settled(page)
    follow(page, "Data")
    page.get_by_text("In use:").first.wait_for()
    settled(page)
    follow(page, "Compare")
    painted(page)
    expect(page.get_by_label("Shift g, as a number")).to_have_value("0.25")
    page.reload()
    painted(page)
    expect(page.get_by_label("Shift g, as a number")).to_have_value("0.25")
    assert epsilons(page) == chosen


def test_browsers_do_not_see_each_others_tables(new_page, tmp_path):
    first, second = new_page("/data"), new_page()
    rows = "\n".join(f"{1 + i * 0.37},{i % 3}" for i in range(200))
    file = tmp_path / "mine.csv"
    file.write_text("pay,grade\n" + rows)
    upload(first, file)
    first.get_by_text("In use: mine").wait_for()
    follow(first, "Compare")
    painted(first)
    expect(first.get_by_text("mine.csv (CONFIDENTIAL)")).to_be_visible()
    painted(second)
    second.reload()
    painted(second)
    expect(second.get_by_text("example:401ksubs")).to_be_visible()
    first.reload()
    painted(first)
    expect(first.get_by_text("mine.csv (CONFIDENTIAL)")).to_be_visible()


@pytest.mark.long
def test_bad_files_are_refused_in_words_and_the_app_goes_on(new_page, tmp_path):
    page = new_page("/data")
    for name, content, message in (
        ("empty.csv", b"", "is empty"),
        ("binary.csv", b"\x00\x01\x02" * 100, "not text"),
        ("broken.parquet", b"PAR1 nonsense", "could not be read"),
        ("twice.csv", b"a,a\n1,2\n", "more than once"),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        upload(page, file)
        page.get_by_text(message).first.wait_for()
    file = tmp_path / "huge.csv"
    with file.open("wb") as stream:
        stream.truncate(300 * 1024**2)
    page.get_by_test_id("stTabs").locator("input[type=file]").set_input_files(file)
    page.get_by_text("200MB or smaller").or_(page.get_by_text("must be 200")).first.wait_for()
    follow(page, "Compare")
    painted(page)

    follow(page, "Data")  # zeros under the logarithm are explained
    file = tmp_path / "zeros.csv"
    file.write_text("pay\n" + "\n".join(str(i + 0.5) for i in range(50)) + "\n0\n-3\n")
    upload(page, file)
    set_role(page, "pay", "sensitive")
    settled(page)
    pick(page, "Model", "Lognormal regression")
    page.get_by_text("2 of 52 values are zero or negative").first.wait_for()
    settled(page)
    follow(page, "Compare")
    page.get_by_text("2 of 52 values are zero or negative").wait_for()


def test_first_visit_of_a_new_server_may_be_any_page_and_it_stops_at_once(chromium, tmp_path):
    server = Server(str(tmp_path))
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(server.url + "/data")
        page.get_by_text("In use:").first.wait_for()
        expect(page.get_by_role("link", name="Compare", exact=True).first).to_be_visible()
    finally:
        context.close()
        seconds = server.stop()
    assert seconds < 5


def test_figures_keep_their_order_whichever_came_first(new_page):
    """Where the first result had no figure of bounds, that figure stood last from then on."""
    page = new_page()
    version = painted(page)
    settled(page)
    titles = page.locator(".board .card h3").all_inner_texts()
    page.evaluate(
        "() => { const all = document.querySelector('.board .cards'); all.append(all.firstElementChild); }"
    )
    assert page.locator(".board .card h3").all_inner_texts() != titles
    box = page.get_by_role("spinbutton", name="Scale c, as a number")
    box.fill("0.5")
    box.press("Enter")
    painted(page, version)
    assert page.locator(".board .card h3").all_inner_texts() == titles
