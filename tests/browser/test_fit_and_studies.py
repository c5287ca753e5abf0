"""Does the model fit, and studies, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import check_fit, follow, painted, settled, use_beta
from tests.browser.test_mechanisms import compare_beta

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def test_model_check_by_category_and_prior_sensitivity(new_page):
    page = new_page("/data")
    use_beta(page, 200)
    expect(page.locator(".board")).to_have_count(0)  # a fit, so it does not start by itself
    check_fit(page)
    first = painted(page)
    expect(page.get_by_text("The model fits as far as 200 records can tell:")).to_be_visible()
    expect(page.get_by_text("all records: 200 records")).to_be_visible()
    for title in ("Predicted and observed shares", "Distribution functions", "Residuals"):
        expect(page.get_by_text(title).first).to_be_visible()
    page.get_by_text("Sensitivity to the priors").click()
    page.get_by_text("the priors speak louder than the data").wait_for(timeout=60_000)
    assert painted(page) == first  # the figures stayed


@pytest.mark.long
def test_a_study_of_databases_like_mine(new_page):
    page = new_page("/data")
    compare_beta(page, 200)
    settled(page)
    follow(page, "Robustness")
    box = page.get_by_role("spinbutton", name="Simulated databases R")
    box.fill("3")
    box.press("Enter")
    settled(page)
    page.get_by_role("button", name="Run the study").click()
    page.get_by_text("R = 3, seed 1").wait_for(timeout=60_000)
    painted(page)
    expect(page.locator('[data-figure="study-lipschitz_bound"]')).to_be_visible()
    expect(page.get_by_text("would be exceeded in").first).to_be_visible()
    sizes = page.get_by_role("textbox", name="Numbers of records")
    sizes.fill("many")
    sizes.press("Enter")
    page.get_by_text("must be whole numbers").wait_for()
