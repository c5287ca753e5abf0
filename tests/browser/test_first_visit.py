"""The tour points and covers nothing; the demonstration says what it is and gives the table back; sign-in first."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LOOK, Server, follow, painted, settled, upload

pytestmark = [pytest.mark.browser, pytest.mark.stan]

PAGES = ("Data", "Compare", "Find settings", "Robustness", "Release", "Help")
NOTICE = "Nothing shown here is confidential"


def outlined(page):
    """The parts that have a frame drawn around them."""
    return page.evaluate("""() => [...document.querySelectorAll('.stMain *, .stSidebar *')]
      .filter(e => getComputedStyle(e).outlineStyle === 'solid' && getComputedStyle(e).outlineWidth === '3px'
        && e.getClientRects().length).map(e => e.getBoundingClientRect().toJSON())""")


def covers_nothing(page, name):
    (part,) = outlined(page)
    strip = page.locator(".st-key-tour_strip").bounding_box()
    assert part["top"] >= strip["y"] + strip["height"] > 0, (name, part, strip)
    assert part["top"] < 800, (name, part)
    others = page.locator(
        ".stMainBlockContainer :is(.board, .stForm, .stDataFrame, .stTable, .st-key-header)"
    ).all()
    for box in filter(None, (other.bounding_box() for other in others)):
        assert box["y"] >= strip["y"] + strip["height"] or box["y"] + box["height"] <= strip["y"], name


def test_the_tour_opens_each_page_points_at_its_part_and_covers_nothing(new_page):
    page = new_page()
    page.set_viewport_size({"width": 1280, "height": 800})
    painted(page)
    settled(page)
    place = page.locator(".board").bounding_box()
    page.get_by_role("button", name="Take the tour").press("Enter")
    for number, name in enumerate(PAGES, 1):
        page.get_by_text(f"{number} of 6 · {name}").wait_for()
        page.wait_for_url("**/" + ("" if name == "Compare" else name.lower().replace(" ", "_")) + "*")
        if name == "Compare":
            painted(page)
        for width in (1440, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            settled(page)
            covers_nothing(page, name)
        page.get_by_role("button", name="Next" if number < 6 else "Finish").press("Enter")
    page.get_by_role("button", name="Tour", exact=True).wait_for()
    painted(page)  # it ends where it began
    settled(page)
    assert outlined(page) == []
    settled(page)
    assert page.locator(".board").bounding_box() == place
    page.reload()
    page.get_by_role("button", name="Tour", exact=True).wait_for()
    expect(page.get_by_role("button", name="Take the tour")).to_have_count(0)


def start_demo(page):
    page.get_by_role("button", name="Presets").click()
    page.get_by_text("Live demo", exact=True).click()
    settled(page)
    page.get_by_role("button", name="Use this preset").click()
    page.get_by_text(NOTICE).wait_for()
    page.get_by_text("example:beta").first.wait_for()
    settled(page)
    page.keyboard.press("Escape")


def test_a_newcomer_sees_whole_records_and_a_strict_row_that_is_the_closest(chromium, tmp_path):
    """And a coarse map of them unasked, or on a busy machine, where it would take more than a minute, a button."""
    server = Server(str(tmp_path), SYNTH_MECHANISMS="")
    context = chromium.new_context(**LOOK)
    try:
        page = context.new_page()
        page.goto(server.url)
        expect(page.locator(".st-key-header")).to_contain_text("sensitive variables e401k, pira, inc")
        expect(page.locator(".board td.epsilon")).to_have_count(3, timeout=120_000)
        painted(page)
        settled(page)
        assert page.locator(".board .badge").all_inner_texts() == ["no guarantee", "asymptotic DP", "zCDP"]
        assert page.locator(".board td.epsilon").all_inner_texts()[2] == "1.00"
        closeness = page.locator(".board .headline").inner_text()
        *others, measured = [
            float(share) for share in re.findall(r"^.*\t([\d.]+) %", closeness, re.MULTILINE)
        ]
        assert measured > max(others)  # 57 and 59 beside 24 and 5, in two runs: its noise has no seed
        follow(page, "Find settings")
        unasked, asked = (
            page.locator(".board"),
            page.get_by_role("button", name=re.compile("Fill a coarse map")),
        )
        unasked.or_(asked).first.wait_for()
    finally:
        context.close()
        server.stop()


@pytest.mark.long
def test_the_demonstration_is_announced_on_every_page_until_another_table_comes(new_page):
    page = new_page()
    painted(page)
    settled(page)
    start_demo(page)
    for name in ("Release", "Data"):
        follow(page, name)
        settled(page)
        expect(page.get_by_text(NOTICE)).to_be_visible()
    page.get_by_role("button", name="Use this example").click()
    page.get_by_text(NOTICE).wait_for(state="detached")


@pytest.mark.long
def test_the_end_of_the_demonstration_brings_the_table_back(new_page, tmp_path):
    """It left the simulated table in use once, and the analyst's own was lost."""
    page = new_page("/data")
    file = tmp_path / "mine.csv"
    file.write_text("pay,grade\n" + "\n".join(f"{1 + i * 0.37},{i % 3}" for i in range(200)))
    upload(page, file)
    follow(page, "Compare")
    version = painted(page)
    settled(page)
    box = page.get_by_role("spinbutton", name="Scale c, as a number")
    box.fill("0.7")
    box.press("Enter")
    painted(page, version)
    settled(page)
    start_demo(page)
    expect(page.get_by_text("mine.csv")).to_have_count(0)
    page.get_by_role("button", name="End the demo").click()
    page.get_by_text("mine.csv (CONFIDENTIAL) · sensitive variable pay").wait_for()
    settled(page)  # until then the demonstration's slider stands there too
    expect(page.get_by_text(NOTICE)).to_have_count(0)
    expect(page.get_by_role("spinbutton", name="Scale c, as a number")).to_have_value("0.70")


def test_where_a_login_is_configured_no_page_is_shown_before_it(chromium, tmp_path):
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(
        '[auth]\nredirect_uri = "http://127.0.0.1/oauth2callback"\ncookie_secret = "x"\n'
        'client_id = "x"\nclient_secret = "x"\nserver_metadata_url = "http://127.0.0.1:1/none"\n'
    )
    server = Server(str(tmp_path), "--secrets.files", str(secrets))
    context = chromium.new_context()
    try:
        for path in ("/", "/data", "/release"):
            page = context.new_page()
            page.goto(server.url + path)
            page.get_by_role("button", name="Sign in").wait_for()
            settled(page)
            expect(page.get_by_text("401ksubs")).to_have_count(0)
            expect(page.get_by_role("link", name="Release")).to_have_count(0)
    finally:
        context.close()
        server.stop()
