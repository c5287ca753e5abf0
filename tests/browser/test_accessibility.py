"""axe on every page in both themes, every control by keyboard, every figure with text and table."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import painted, settled

axe_package = pytest.importorskip("axe_playwright_python.sync_playwright", reason="requirements-dev.txt")

pytestmark = [pytest.mark.browser, pytest.mark.stan]

PAGES = (
    "/",
    "/?view=Sensitive+range",
    "/data",
    "/find_settings",
    "/robustness",
    "/robustness?question=The+papers'+studies",
    "/robustness?question=Privacy+audit",
    "/release",
    "/help",
    "/help?section=Glossary",
    "/help?section=Methods",
    "/help?section=Own+programs",
)
WITH_FIGURES = {"/", "/?view=Sensitive+range"}
GRAVE = {"serious", "critical"}

# What can be reached with the Tab key: visible, enabled, in the tab order. Of a group of radio buttons, tabs or
# pills one is reached, and arrows move on; the boxes inside a table's canvas are its own affair.
GROUP = "[role=radiogroup], [role=toolbar], [role=tablist]"
STOPS = """() => [...document.querySelectorAll('a[href], button, input, select, textarea, [tabindex="0"]')]
  .filter(e => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0
    && e.type !== 'file' && !e.closest('[inert], [aria-hidden=true], canvas')
    && e.getClientRects().length)"""


def open_finished(page, path):
    if path in WITH_FIGURES:
        painted(page)
    else:
        page.locator(".stMainBlockContainer :is(h2, h3, .stButton)").first.wait_for()
    settled(page)


def grave(page):
    """Rule, element and measure of each serious or critical violation."""
    found = axe_package.Axe().run(page).response["violations"]
    return [
        (v["id"], n["html"][:160], n["failureSummary"][:200])
        for v in found
        if v["impact"] in GRAVE
        for n in v["nodes"]
    ]


def unreached(page):
    """Stops of the page that the Tab key does not come to; a panel is one only until its contents are there."""
    stops = page.evaluate(f"""() => {{
      window.stops = ({STOPS})(); window.reached = new Set([document.activeElement]);
      document.addEventListener('focusin', e => window.reached.add(e.target));
      return window.stops.length; }}""")
    assert stops > 8
    for _ in range(stops + 30):
        page.keyboard.press("Tab")
    return page.evaluate(
        """group => { const groups = new Set([...window.reached].map(e => e.closest(group)));
          return window.stops.filter(e => e.isConnected && e.tabIndex >= 0 && !window.reached.has(e)
              && !(e.closest(group) && groups.has(e.closest(group))))
            .map(e => e.outerHTML.slice(0, 200)); }""",
        GROUP,
    )


def check_figures(page):
    """Each figure has a text that says what is seen, and a table that a key opens."""
    figures = page.evaluate("""() => [...document.querySelectorAll('.board .card')].map(card => ({
      role: card.querySelector('.plot').getAttribute('role'),
      text: card.querySelector('.plot').getAttribute('aria-label'),
      title: card.querySelector('h3').textContent,
      rows: card.querySelectorAll('.data tbody tr').length,
      heads: [...card.querySelectorAll('.data th')].every(h => h.scope === 'col'),
      button: card.querySelector('button.show').getAttribute('aria-label') }))""")
    assert len(figures) >= 3
    for figure in figures:
        assert figure["role"] == "figure"
        assert figure["text"].startswith(figure["title"])
        assert len(figure["text"]) > len(figure["title"]) + 10
        assert figure["rows"] > 0
        assert figure["heads"]
        assert figure["title"] in figure["button"]
    for button, key in zip(page.locator(".board button.show").all(), ("Enter", "Space"), strict=False):
        button.focus()
        button.press(key)
    expect(page.locator(".board .data").first).to_be_visible()
    expect(page.locator(".board .data").nth(1)).to_be_visible()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_every_page(new_page, theme):
    page = new_page(theme=theme)
    base = page.url.rstrip("/")
    for path in PAGES:
        if path != "/":
            page.goto(base + path)
        open_finished(page, path)
        assert grave(page) == [], path
        if theme == "light":
            assert unreached(page) == [], path
            if path in WITH_FIGURES:
                check_figures(page)


def test_what_opens_over_the_page(new_page):
    """Presets, tables, a guarantee, the tour."""
    page = new_page(theme="dark")
    open_finished(page, "/")
    page.get_by_role("button", name="Presets").click()
    page.get_by_role("button", name="Use this preset").wait_for()
    assert grave(page) == []
    page.keyboard.press("Escape")
    page.locator(".board button.show").first.click()
    page.locator(".board .badge").first.click()
    page.get_by_role("button", name="Take the tour").click()
    page.get_by_role("button", name="Next").wait_for()
    assert grave(page) == []
