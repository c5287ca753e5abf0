"""What users and files do wrong, in a real browser: nothing is lost, nothing leaks."""

import os

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, painted, pick, settled, upload

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def test_a_cleared_box_gets_its_value_back(new_page):
    page = new_page()
    version = painted(page)
    box = page.get_by_role("spinbutton", name="Scale c, as a number")
    box.fill("0.7")
    box.press("Enter")
    painted(page, version)
    box.fill("")
    box.press("Enter")
    page.wait_for_function(
        "() => document.querySelector('[aria-label=\"Scale c, as a number\"]').value === '0.70'"
    )
    expect(page.locator("input[type=range]").first).to_have_value("0.7")


def test_no_button_is_cut_at_twice_the_size(new_page):
    """At 200 % of 1440 pixels "Run the study" ended in three dots."""
    page = new_page("/robustness")
    page.set_viewport_size({"width": 720, "height": 450})
    expect(page.get_by_role("button", name="Run the study")).to_be_visible()
    settled(page)
    cut = """() => [...document.querySelectorAll('button .stMarkdownEllipsis')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""
    assert page.evaluate(cut) == []


def test_what_the_record_inspector_asks_for_is_not_cut(new_page):
    """It read "a record's number, or click a"."""
    page = new_page()
    painted(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    settled(page)
    room = """e => { const pen = document.createElement('canvas').getContext('2d'), style = getComputedStyle(e);
        pen.font = style.font;
        return e.clientWidth - parseFloat(style.paddingLeft) - pen.measureText(e.placeholder).width; }"""
    assert page.get_by_role("spinbutton", name="Record inspector").evaluate(room) >= 0


@pytest.mark.long
def test_names_from_a_file_are_only_names(new_page, tmp_path):
    """new_page fails on any request that leaves the server."""
    page = new_page("/data")
    name = "![x](http://evil.example/p.png)<img src=http://evil.example/q.png>"
    file = tmp_path / "odd.csv"
    file.write_text(f'"{name}",z\n' + "\n".join(f"{i}.5,{i % 4}" for i in range(1, 80)))
    upload(page, file)
    page.get_by_text("Ready:").wait_for()
    follow(page, "Compare")
    painted(page)
    expect(page.locator("img[src*=evil]")).to_have_count(0)
    follow(page, "Data")
    page.get_by_role("combobox", name="Role of z").wait_for()


def test_tabs_of_one_browser_keep_in_step(new_page):
    first = new_page()
    version = painted(first)
    second = first.context.new_page()
    second.goto(first.url)
    painted(second)
    box = first.get_by_role("spinbutton", name="Scale c, as a number")
    box.fill("0.5")
    box.press("Enter")
    painted(first, version)
    second.get_by_label("Shift g, as a number").fill("0.1")
    second.get_by_label("Shift g, as a number").press("Enter")
    second.wait_for_function(
        "() => document.querySelector('[aria-label=\"Scale c, as a number\"]').value === '0.50'"
    )


def test_an_upload_reaches_no_disk(new_page, server, tmp_path):
    page = new_page("/data")
    settled(page)
    file = tmp_path / "big.csv"
    file.write_text("pay,grade\n" + "\n".join(f"{i}.25,{i % 7}" for i in range(400_000)))
    assert file.stat().st_size > 3 * 1024**2
    page.get_by_role("tab", name="Your file").click()
    settled(page)
    page.get_by_test_id("stTabs").locator("input[type=file]").set_input_files(file)
    seen = set()
    for _ in range(40):
        for fd in os.listdir(f"/proc/{server.process.pid}/fd"):
            try:
                target = os.readlink(f"/proc/{server.process.pid}/fd/{fd}")
            except OSError:
                continue
            if "(deleted)" in target and "/tmp" in target:
                seen.add(target)
        page.wait_for_timeout(50)
    page.get_by_text("is loaded and in use").wait_for(timeout=60_000)
    assert not seen


@pytest.mark.long
def test_a_table_that_is_long_in_reading_comes_with_its_own_columns(new_page, tmp_path):
    """The widgets of the old table were sent with the next run once, and its columns were chosen in the new one."""
    page = new_page("/data")
    file = tmp_path / "long.csv"
    file.write_text("pay,grade\n" + "\n".join(f"{i}.25,{i % 7}" for i in range(1, 1_500_000)))
    settled(page)
    page.get_by_role("tab", name="Your file").click()
    settled(page)
    page.get_by_test_id("stTabs").locator("input[type=file]").set_input_files(file)
    loaded = page.get_by_text("long.csv is loaded and in use")
    page.get_by_text("Reading long.csv").or_(loaded).first.wait_for()  # said where it takes seconds
    loaded.wait_for(timeout=90_000)
    settled(page)
    expect(page.locator(".st-key-header p").first).to_contain_text(
        "long.csv (CONFIDENTIAL) · sensitive variable pay"
    )
    expect(page.get_by_role("combobox", name="Role of pay")).to_have_value("sensitive")
    page.get_by_text("Ready: 1,499,999 complete rows").wait_for()


def test_an_infinite_error_does_not_blank_the_board(new_page, tmp_path):
    page = new_page("/data")
    file = tmp_path / "zero.csv"
    half = [i / 100 + 0.003 for i in range(1, 60)]
    file.write_text("x\n" + "\n".join(f"{v}" for v in [*half, 0.0, *(-v for v in half)]))
    upload(page, file)
    page.get_by_text("In use: zero").wait_for()
    settled(page)
    pick(page, "Model", "Beta")
    page.get_by_text("needs declared bounds").wait_for()
    settled(page)
    for bound, value in (("lower", "-1"), ("upper", "1")):
        box = page.get_by_label(f"Declared {bound} bound")
        box.fill(value)
        box.press("Enter")
        settled(page)
    page.get_by_text("Ready: 119").wait_for()
    follow(page, "Compare")
    painted(page)
    expect(page.locator(".board .card")).to_have_count(4)


def test_a_page_that_was_taken_down_is_loaded_anew(new_page):
    page = new_page()
    painted(page)
    box = page.get_by_role("spinbutton", name="Scale c, as a number")
    version = painted(page)
    box.fill("0.6")
    box.press("Enter")
    painted(page, version)
    with page.expect_navigation(wait_until="commit", timeout=60_000):
        page.evaluate(
            """() => { document.getElementById('root').replaceChildren();
            window.dispatchEvent(new ErrorEvent('error', { message: 'as React reports it' })); }"""
        )
    painted(page)
    # what was chosen is still there
    expect(page.get_by_role("spinbutton", name="Scale c, as a number")).to_have_value("0.60")
    page.evaluate(
        """() => { document.getElementById('root').replaceChildren();
        window.dispatchEvent(new ErrorEvent('error', { message: 'again' })); }"""
    )
    page.wait_for_timeout(1_500)
    expect(page.get_by_role("spinbutton", name="Scale c, as a number")).to_have_count(0)  # not for ever


def test_a_figure_may_be_taken_away_while_it_is_drawn(new_page):
    """new_page fails on an error of a script: plotly.js works on after its calls return."""
    page = new_page()
    painted(page)
    settled(page)
    for name in ("Sensitive range", "Whole range", "Sensitive range", "Whole range"):
        page.evaluate(
            """async () => {
            const board = document.querySelector('.board'), cards = board.querySelector('.cards');
            const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
            cards.style.width = '60%';  // all are drawn in another size
            await wait(50);
            cards.remove();  // as Streamlit takes a page's elements away before it says so
            await wait(300);
            board.append(cards);
            cards.style.width = '';
            await wait(50); }"""
        )
        page.get_by_role("radio", name=name).click()
        settled(page)
        page.locator(".board").wait_for()
        painted(page)
