"""A setting is played over its range and comes back."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, painted, settled
from tests.browser.test_scenarios import fill

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def play(page, first, last):
    page.get_by_role("button", name="Play a setting").click()
    settled(page)
    for label, value in (("From", first), ("To", last), ("Pictures", "3")):
        fill(page, label, value)
    page.get_by_role("button", name="Play", exact=True).click()


def epsilon(page):
    return page.locator(".board td.epsilon").nth(1)


@pytest.mark.long
def test_a_setting_is_played_and_comes_back_also_where_the_page_is_left(new_page):
    page = new_page()
    painted(page)
    settled(page)
    before = epsilon(page).inner_text()
    play(page, "0.5", "0.7")
    seen = []
    for i, value in enumerate(("0.5", "0.6", "0.7"), start=1):
        page.get_by_role("button", name=f"Stop: Scale c = {value} ({i} of 3)").wait_for()
        page.wait_for_function("before => document.querySelectorAll('.board td.epsilon')[1].innerText !== before",
                               arg=seen[-1] if seen else before)  # fmt: skip
        seen.append(epsilon(page).inner_text())
    assert sorted(seen, key=float) == seen
    expect(page.get_by_role("button", name="Play a setting")).to_be_visible()
    expect(epsilon(page)).to_have_text(before)
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_disabled()  # it was no step

    play(page, "0.3", "0.4")
    page.get_by_role("button", name=re.compile("Stop: Scale c = 0.3")).wait_for()
    follow(page, "Release")
    follow(page, "Compare")
    expect(page.get_by_role("spinbutton", name="Scale c, as a number")).to_have_value("1.00")
    expect(page.get_by_role("button", name="Play a setting")).to_be_visible()
