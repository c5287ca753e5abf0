"""What a file calls its columns and categories stays text on every page, whatever it is written in."""

import csv
import io

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import check_fit, confirm_charge, make_plan, painted, settled, upload

pytestmark = [pytest.mark.browser, pytest.mark.stan]

# Markup, directives, icons, formulas, addresses, arrows; Hebrew with a mark of direction.
OUTCOME = "pay <img src=x onerror=evil()> :red[EVIL] $EVIL^2$ :material/delete: **evil** -> $$EVIL$$"
NUMBER = "[evil](http://evil.example) `evil` :streamlit: :smile: www.evil.example a@evil.example"
GROUP = "שכר\u200f <b>evil</b> ![i](http://evil.example/i.png) :material_delete: ~~evil~~"
LEVELS = (
    "<i>evil</i>",
    ":blue-background[EVIL]",
    "$\\frac{EVIL}{2}$",
    "א\u200f <u>evil</u>",
    "=1+1 :material/home:",
)

# What would be there if a name were more than text, in the page's document and in its frames.
MADE_OF_NAMES = r"""() => {
  const all = (s) => [...document.querySelectorAll(s)];
  const own = (e) => e.textContent.replace(/\u2060/g, '').trim();
  const found = [];
  for (const e of all('img, a, script, iframe, video'))
    if (/evil|^x$/.test(e.getAttribute('src') ?? '') || /^[^#].*evil/.test(e.getAttribute('href') ?? ''))
      found.push(e.outerHTML);
  for (const e of all('b, i, u, s, del, em, strong, code, span, a'))
    if (/^evil$/i.test(own(e))) found.push(e.outerHTML);
  for (const e of all('.katex')) if (/EVIL/.test(e.textContent)) found.push(e.outerHTML.slice(0, 200));
  for (const e of all('img[alt="Streamlit logo"], [role=img][aria-label="delete icon"], [aria-label="home icon"]'))
    found.push(e.outerHTML.slice(0, 200));
  const text = document.body.innerText;
  if (/😄|→ \$\$/u.test(text)) found.push('an emoji or an arrow');
  if (/Something went wrong|Traceback/.test(text)) found.push('an error');
  if (all('[data-testid=stException]').length) found.push('an exception');
  if (window.evil) found.push('a script');
  return found;
}"""


def nasty_file(directory):
    """A table whose names are all of that."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([OUTCOME, NUMBER, GROUP])
    writer.writerows(
        [f"{10 + i * 0.37:.2f}", f"{(i * 7) % 11}.5", LEVELS[i % len(LEVELS)]] for i in range(120)
    )
    file = directory / "pay <b>evil :red[EVIL] $x$.csv"
    file.write_text(out.getvalue(), encoding="utf-8")
    return file


def only_text(page):
    settled(page)
    found = page.evaluate(MADE_OF_NAMES)
    assert not found, (page.url, found)


def words(page):
    return page.evaluate(r"() => document.body.innerText.replace(/[\u2060\u2068\u2069]/g, '')")


def use_nasty_table(page, directory):
    """Its two predictors are chosen too."""
    file = nasty_file(directory)
    upload(page, file)
    page.get_by_text("Ready:").wait_for()
    for name in (NUMBER, GROUP):
        row = page.locator(".columns tr").filter(has_text=name)
        row.get_by_role("combobox", name="Role of").select_option("public, predictor")
        settled(page)
    page.get_by_text("Ready: 120").wait_for()
    return file


def test_names_are_only_text_on_every_page(new_page, tmp_path):
    """Every page of the list, with what it shows by itself; new_page fails on a foreign request."""
    page = new_page("/data")
    use_nasty_table(page, tmp_path)
    only_text(page)
    assert "pay <b>evil :red[EVIL] $x$.csv" in words(page)  # literally
    links = page.get_by_test_id("stTopNavLink")
    names = [text.rpartition("\n")[2] for text in links.all_inner_texts()]
    assert len(names) > 5
    seen = ""
    for name in names:
        page.get_by_role("link", name=name, exact=True).first.click()
        at_rest(page)
        only_text(page)
        seen += words(page)
    assert seen.count(OUTCOME) > 2


def at_rest(page):
    """A page whose fits have ended and whose figures are drawn."""
    settled(page)
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0, timeout=120_000)
    settled(page)
    if page.locator(".board").count():
        painted(page)


@pytest.mark.long
def test_names_are_only_text_in_figures_by_category(new_page, tmp_path):
    page = new_page("/data")
    use_nasty_table(page, tmp_path)
    check_fit(page)
    before = painted(page)
    page.get_by_role("combobox", name="By the categories of").click()
    page.get_by_role("option").filter(has_text=GROUP).click()
    painted(page, before)
    only_text(page)
    drawn = page.locator(".board").evaluate("(b) => b.textContent.replace(/[\\u2068\\u2069]/g, '')")
    for level in LEVELS:
        assert level in drawn


@pytest.mark.long
def test_names_are_only_text_in_a_release(new_page, tmp_path):
    page = new_page("/data")
    file = use_nasty_table(page, tmp_path)
    page.get_by_role("link", name="Release", exact=True).first.click()
    settled(page)
    page.get_by_role("spinbutton", name="Target ε").fill("25")
    page.get_by_role("spinbutton", name="Target ε").press("Tab")
    make_plan(
        page,
        "a historical table, another one than those to be released",
        **{"Why these settings": OUTCOME, "Who decided": OUTCOME},
    )
    page.get_by_role("button", name="Another plan").wait_for(timeout=60_000)
    only_text(page)
    assert OUTCOME in words(page)
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("120 rows").wait_for()
    confirm_charge(page)
    settled(page)
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("No copies of confidential records").wait_for(timeout=60_000)
    only_text(page)
    assert file.name in words(page)
