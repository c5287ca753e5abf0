"""Model check and Studies in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import follow, painted, settled
from tests.browser.test_mechanisms import compare_beta

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def test_model_check_by_category_and_prior_sensitivity(new_page):
    page = new_page("/data")
    compare_beta(page, 200)
    settled(page)
    follow(page, "Model check")
    first = painted(page)
    expect(page.get_by_text("200 records")).to_be_visible()
    for title in ("Predicted and observed shares", "Distribution functions", "Residuals"):
        expect(page.get_by_text(title).first).to_be_visible()
    page.get_by_text("Sensitivity to the priors").click()
    page.get_by_text("the priors speak louder than the data").wait_for(timeout=60_000)
    assert painted(page) == first  # the figures stayed


def test_a_study_of_databases_like_mine(new_page):
    page = new_page("/data")
    compare_beta(page, 200)
    settled(page)
    follow(page, "Studies")
    box = page.get_by_role("spinbutton", name="Simulated databases R")
    box.fill("3")
    box.press("Enter")
    settled(page)
    page.get_by_role("button", name="Run the study").click()
    page.get_by_text("R = 3, seed 1").wait_for(timeout=60_000)
    painted(page)
    expect(page.locator('[data-figure="study-lipschitz_bound"]')).to_be_visible()
    sizes = page.get_by_role("textbox", name="Numbers of records")
    sizes.fill("many")
    sizes.press("Enter")
    page.get_by_text("must be whole numbers").wait_for()
