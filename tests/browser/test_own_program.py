"""An own Stan program from the page to the mechanisms, in a real browser."""

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Server, check_fit, follow, help_on, painted, pick, settled, upload
from tests.support.own_programs import EXAMPLES, GAMMA, always

pytestmark = [pytest.mark.browser, pytest.mark.stan]
TWELVE = ["Weighted-e", "Censored", "Censored weighted", "Exponential (EM)", "Count-weighted", "Weighted, final",
          "Count-weighted, final", "Range-averaged", "Range-truncated", "Histogram"]  # fmt: skip


@pytest.fixture(scope="module")
def server(chromium, tmp_path_factory):
    """A server of a local single user who switched own programs on."""
    server = Server(str(tmp_path_factory.mktemp("own-results")), SYNTH_OWN_PROGRAMS="1")
    yield server
    server.stop()


@pytest.fixture
def pay(tmp_path):
    rng = np.random.default_rng(7)
    age, sex = rng.integers(20, 70, 150), rng.integers(0, 2, 150)
    value = rng.gamma(3.0, np.exp(1.0 + 0.01 * age + 0.2 * sex) / 3.0)
    file = tmp_path / "pay.csv"
    file.write_text(
        "pay,age,sex\n" + "\n".join(f"{v:.4f},{a},{s}" for v, a, s in zip(value, age, sex, strict=True))
    )
    return file


def open_program(page, source):
    help_on(page, "Own programs")
    page.get_by_role("button", name="Check and use").wait_for()
    settled(page)
    page.get_by_role("textbox", name="Stan program").fill(source)
    page.get_by_role("button", name="Check and use").click()


def few_draws(page):
    page.get_by_text("Sampling", exact=True).click()
    for label, value in (("Draws per chain", "300"), ("Warm-up per chain", "300")):
        box = page.get_by_label(label)
        box.fill(value)
        box.press("Enter")
        settled(page)


def test_a_worked_example_becomes_the_model(new_page, pay):
    page = new_page("/data")
    upload(page, pay)
    open_program(page, "data {")
    page.get_by_text("The Stan compiler refuses the program: line 1").wait_for(timeout=90_000)  # it compiles
    pick(page, "Example", "Gamma regression")
    settled(page)
    page.get_by_role("button", name="Load into the editor").click()
    settled(page)
    expect(page.get_by_role("textbox", name="Stan program")).to_have_value(GAMMA)
    page.get_by_role("button", name="Check and use").click()
    page.get_by_text("The program keeps the contract and is the model now").wait_for(timeout=180_000)
    page.get_by_text("doubles the data part of the log target").wait_for()
    settled(page)
    follow(page, "Data")
    page.get_by_text("Ready: ").wait_for()
    settled(page)
    follow(page, "Compare")
    painted(page)
    page.reload()
    painted(page)
    page.get_by_text("by an own program").wait_for()
    help_on(page, "Own programs")
    page.get_by_role("button", name="Check and use").wait_for()
    settled(page)
    expect(page.get_by_role("textbox", name="Stan program")).to_have_value(GAMMA)
    follow(page, "Data")
    check_fit(page)
    for title in ("Predicted and observed shares", "Distribution functions", "Residuals"):
        expect(page.get_by_text(title).first).to_be_visible()


def test_a_server_that_others_can_reach_refuses(chromium, tmp_path_factory):
    shared = Server(
        str(tmp_path_factory.mktemp("shared")), "--server.address", "0.0.0.0", SYNTH_OWN_PROGRAMS="1"
    )
    try:
        page = chromium.new_context().new_page()
        page.goto(shared.url + "/own_program")
        page.get_by_text("This server can be reached by others").wait_for(timeout=30_000)
        expect(page.get_by_role("button", name="Check and use")).to_have_count(0)
        page.context.close()
    finally:
        shared.stop()


@pytest.mark.long
@pytest.mark.parametrize("name", ["gamma_regression", "student_t"])
def test_all_twelve_mechanisms_run_with_a_worked_example(new_page, pay, name):
    page = new_page("/data")
    page.set_default_timeout(240_000)
    upload(page, pay)
    for label, value in (("Declared lower bound", "0"), ("Declared upper bound", "100")):
        box = page.get_by_label(label)
        box.fill(value)
        box.press("Enter")
        settled(page)
    open_program(page, EXAMPLES[name])
    page.get_by_text("The program keeps the contract and is the model now").wait_for()
    settled(page)
    follow(page, "Compare")
    painted(page)
    few_draws(page)
    for mechanism in TWELVE:
        pick(page, "Mechanisms", mechanism)
        settled(page)
    page.keyboard.press("Escape")
    page.wait_for_function(
        """() => { const b = document.querySelector('.board');
        return !b.classList.contains('stale') && b.querySelectorAll('td.epsilon').length === 12; }"""
    )
    epsilon = [float(text.replace(",", "")) for text in page.locator(".board td.epsilon").all_inner_texts()]
    assert all(np.isfinite(epsilon)) and min(epsilon) > 0


@pytest.mark.long
def test_an_endless_program_is_cancelled_and_the_app_goes_on(new_page, pay):
    page = new_page("/data")
    page.set_default_timeout(240_000)
    upload(page, pay)
    open_program(page, always("infinite loop"))
    page.get_by_text("Checking: It can be sampled").wait_for()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_text("Cancelled.").wait_for()
    settled(page)
    follow(page, "Compare")
    painted(page)
    open_program(page, always("infinite loop") + "\n")
    page.get_by_text("The own program stopped: it used more than").wait_for()
    open_program(page, always("memory hog"))
    page.get_by_text("The own program stopped: it asked for more than 4 GiB").wait_for()
    settled(page)
    follow(page, "Compare")
    painted(page)
