"""The tour moves nothing and stays away once dismissed; the demonstration says what it is; sign-in first."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Server, follow, painted, settled

pytestmark = [pytest.mark.browser, pytest.mark.stan]

NOTICE = "Nothing shown here is confidential"


def test_the_tour_is_a_keyboard_walk_that_moves_nothing_and_does_not_come_back(new_page):
    page = new_page()
    painted(page)
    settled(page)
    place = page.locator(".board").bounding_box()
    page.get_by_role("button", name="Take the tour").press("Enter")
    for number in range(1, 6):
        page.get_by_text(f"{number} of 6 ·").wait_for()
        settled(page)
        page.get_by_role("button", name="Next").press("Enter")
    page.get_by_text("6 of 6 · Release").wait_for()
    assert page.locator(".board").bounding_box() == place
    settled(page)
    page.get_by_role("button", name="Finish").press("Enter")
    page.get_by_role("button", name="Tour", exact=True).wait_for()
    assert page.locator(".board").bounding_box() == place
    page.reload()
    page.get_by_role("button", name="Tour", exact=True).wait_for()
    expect(page.get_by_role("button", name="Take the tour")).to_have_count(0)


def test_the_demonstration_is_announced_on_every_page_until_another_table_comes(new_page):
    page = new_page()
    painted(page)
    settled(page)
    page.get_by_role("button", name="Presets").click()
    page.get_by_text("Live demo", exact=True).click()
    settled(page)
    page.get_by_role("button", name="Use this preset").click()
    page.get_by_text(NOTICE).wait_for()
    page.get_by_text("example:beta").first.wait_for()
    settled(page)
    page.keyboard.press("Escape")
    for name in ("Release", "Data"):
        follow(page, name)
        settled(page)
        expect(page.get_by_text(NOTICE)).to_be_visible()
    page.get_by_role("button", name="Use this example").click()
    page.get_by_text(NOTICE).wait_for(state="detached")


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
