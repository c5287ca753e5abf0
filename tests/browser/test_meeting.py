"""An hour with directors in ten minutes, by the keyboard alone: an unknown file becomes a plan and a file of slides.

`MEETING_PICTURES=DIRECTORY` keeps a picture of each step; `-m long` drives the other sizes and the dark theme.
"""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import TimeoutError, expect
from pptx import Presentation

from synth_core.release.plan.plan import read_plan
from tests.browser.conftest import painted, settled

pytestmark = [pytest.mark.browser, pytest.mark.stan]

PICTURES = os.environ.get("MEETING_PICTURES")
SIZES = {"laptop": (1440, 900), "projector": (1920, 1080), "small": (1280, 720), "phone": (390, 844)}
N = 2_000
ROLES = {  # in the order in which they are given
    "AGEP": "public, predictor",
    "SEX": "public, predictor",
    "PWGTP": "weight",
    "MSP": "sensitive",
    "EDU": "sensitive",
    "DPHY": "sensitive",
    "PINCP": "sensitive",
}
KINDS = {"MSP": "category", "EDU": "ordered", "DPHY": "category"}
DECLARED = {"MSP": "1, 2, 3, 4, 6", "EDU": "1, 2, 3, 4, 5, 6", "DPHY": "1, 2"}
RULES = {"MSP": "AGEP < 15 <-> MSP missing", "PINCP": "AGEP < 15 <-> PINCP missing"}

# Whether an element has the focus, or in which direction it lies from what has it; it may have been made anew.
PLACE = """e => { const at = document.activeElement;
  if (!e.isConnected) return 'gone';
  if (e === at || e.contains(at)) return 'here';
  return at && at !== document.body && e.compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING
    ? 'Shift+Tab' : 'Tab'; }"""


def extract(file):
    """A file in the manner of an ACS extract: codes, N for not applicable, a survey weight."""
    rng = np.random.default_rng(33)
    age, sex = rng.integers(0, 91, N), rng.integers(1, 3, N)
    grade = np.clip(np.round(rng.normal(3.6, 1.2, N)), 1, 6).astype(int)
    income = np.exp(9.6 + 0.25 * grade + 0.7 * rng.normal(size=N)).round(-1).astype(int)
    income[rng.random(N) < 0.15] = 0
    married = np.where(age < 30, 6, rng.choice([1, 2, 3, 4, 6], N, p=[0.55, 0.05, 0.08, 0.15, 0.17]))
    pd.DataFrame(
        {
            "PUMA": [f"25-{each:05d}" for each in rng.integers(100, 110, N)],
            "AGEP": age,
            "SEX": sex,
            "MSP": np.where(age < 15, "N", married.astype(str)),
            "OWN_RENT": rng.integers(0, 3, N),
            "EDU": grade,
            "PINCP": np.where(age < 15, "N", income.astype(str)),
            "DPHY": 1 + (rng.random(N) < 0.97 - 0.003 * age),
            "PWGTP": rng.integers(20, 200, N),
        }
    ).to_csv(file, index=False)


class Keyboard:
    """A page that is used without a pointer; every step leaves a picture where pictures are asked for."""

    def __init__(self, page, name):
        self.page, self.name, self.steps = page, name, 0

    def to(self, role, name):
        """Press Tab, or Shift and Tab, until the element has the focus; returns it."""
        if role == "summary":  # of a part that opens
            found = self.page.locator("summary", has_text=name)
        else:
            found = self.page.get_by_role(role, name=name, exact=isinstance(name, str))
        handle = None
        for _ in range(300):
            if handle is None and found.count():
                handle = found.first.element_handle()
            place = "gone" if handle is None else handle.evaluate(PLACE)
            if place == "here":
                return found.first
            if place == "gone":
                handle = None
            self.page.keyboard.press("Tab" if place == "gone" else place)
        raise AssertionError(f"the Tab key does not come to the {role} {name}")

    def press(self, role, name, key="Enter"):
        self.to(role, name)
        self.page.keyboard.press(key)
        settled(self.page)

    def go(self, page):
        """To another page by its link; a run that ends just then can overtake the key, and one presses again."""
        address = self.page.url
        for _ in range(3):
            self.press("link", page)
            try:
                self.page.wait_for_url(lambda url: url != address, timeout=5_000)
                return
            except TimeoutError:
                continue

    def open(self, part):
        """Open a part of the page, unless it is."""
        if not self.to("summary", part).evaluate("e => e.parentElement.open"):
            self.press("summary", part)

    def choose(self, label, option):
        """Type an option's name into a box, go to it, and take it."""
        box = self.to("combobox", label)
        self.page.keyboard.type(option)
        self.page.get_by_role("option", name=option, exact=True).wait_for()
        for _ in range(9):  # above it may stand one that takes all that match
            at = box.evaluate(
                "e => document.getElementById(e.getAttribute('aria-activedescendant'))?.innerText"
            )
            if at == option:
                break
            self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Enter")
        settled(self.page)
        if self.page.get_by_role("listbox").count():  # one that takes several stays open
            self.page.keyboard.press("Escape")

    def column(self, name, field, value):
        """Find a column in the table of columns, and choose its role or kind by the first letter."""
        self.to("searchbox", "Find a column")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(name)
        box = self.to("combobox", f"{field} of {name}")
        if box.input_value() != value:
            self.page.keyboard.press(value[0])
        self.row(name).and_(
            self.page.locator(".used" if field == "Role" else ":has-text('declared here')")
        ).wait_for()
        settled(self.page)
        expect(self.page.get_by_role("combobox", name=f"{field} of {name}", exact=True)).to_have_value(value)

    def row(self, name):
        """The row of a column: what it says has been heard of."""
        return self.page.locator(f".columns tr[data-column={name}]")

    def fill(self, role, label, text):
        """What is typed while an older run ends can be overtaken by it: one types again."""
        for _ in range(3):
            box = self.to(role, label)
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
            self.page.keyboard.press("Tab")
            settled(self.page)
            # a box that asked for what was missed has gone
            if role != "spinbutton" or not box.count() or float(box.input_value()) == float(text):
                return

    def save(self, name, directory):
        """Press a button that gives a file; returns where it is."""
        with self.page.expect_download() as download:
            self.press("button", name)
        file = directory / download.value.suggested_filename
        download.value.save_as(file)
        return file

    def look(self, step):
        """Nothing may be wider than the window; keep a picture."""
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
        if PICTURES:
            settled(self.page)
            self.steps += 1
            Path(PICTURES).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(PICTURES) / f"{self.name}-{self.steps:02d}-{step}.png")


def describe(keys, file):
    """From the first visit to a table whose four sensitive variables are described, and said to fit."""
    page = keys.page
    painted(page)
    keys.look("first-visit")
    keys.press("link", re.compile("Use my own table"))
    with page.expect_file_chooser() as chooser:
        keys.press("button", re.compile("Upload|Browse"))
    chooser.value.set_files(file)
    page.get_by_text("people.csv is loaded and in use").wait_for()
    settled(page)
    keys.look("uploaded")
    keys.press("button", "N means missing")
    for name, role in ROLES.items():
        if name in KINDS:
            keys.column(name, "Kind", KINDS[name])
        keys.column(name, "Role", role)
        if name in DECLARED:
            expect(keys.row(name)).to_contain_text("to be described")
            keys.fill("textbox", "Declared categories, separated by commas", DECLARED[name])
            expect(keys.row(name)).not_to_contain_text("to be described")
        if name in RULES:
            keys.press("button", name)
            keys.open("What the codebook declares of this column")
            keys.fill("textbox", "Rules", RULES[name])
            expect(keys.row(name)).to_contain_text("1 rule")
    keys.choose("What is publicly known of the variable", "Amounts, many of them zero")
    keys.fill("spinbutton", "A typical value, publicly known", "40000")
    keys.press("button", "Use this proposal")
    expect(page.get_by_text("Nothing is declared of PINCP")).to_have_count(0)
    keys.look("described")
    keys.press("button", "Check the fit")
    page.get_by_text("The models of all 4 variables fit").wait_for(timeout=60_000)
    keys.look("fits")


def compare(keys, directory):
    """Two scenarios under a rule that one of them keeps, presented; returns the file of slides."""
    page = keys.page
    keys.go("Compare")
    keys.choose("Mechanisms", "Measured")
    keys.fill("spinbutton", "Half of all values of PINCP lie between", "20000")
    keys.fill("spinbutton", "and", "80000")
    keys.press("button", "Rule")
    keys.fill("textbox", "ε of all data sets together, at most", "6")
    page.keyboard.press("Escape")
    finished(page, 3)
    keys.look("three-rows")
    verdicts = page.locator(".board .numbers .verdict")
    expect(verdicts).to_have_text(["✗ fails", "✗ fails", "✓ passes"])
    keys.press("button", "Pin as A")
    keys.fill("spinbutton", "Target ε, as a number", "10")
    expect(page.locator(".board td.epsilon").last).to_contain_text("10.00", timeout=180_000)
    finished(page, 3)
    keys.look("two-scenarios")
    expect(verdicts).to_have_text(["✗ fails"] * 3)
    keys.press("button", "Pin as B")
    keys.fill("spinbutton", "Target ε, as a number", "5")  # A again
    finished(page, 3)
    keys.press("button", "Present")
    keys.look("presented")
    for name in ("B (2 of 2)", "A (1 of 2)"):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".stage-title")).to_have_text(name)
    page.keyboard.press("f")
    keys.look("presented-four")
    page.keyboard.press("Escape")
    finished(page, 3)
    keys.press("button", "Slides and file")
    keys.look("slides")
    slides = keys.save("PowerPoint", directory)
    page.keyboard.press("Escape")
    return slides


def plan_it(keys, directory):
    """The plan's file, and the record of the decision."""
    page = keys.page
    keys.go("Release")
    keys.choose("The table named above is", "a historical table, another one than those to be released")
    keys.fill("textbox", "Why these settings", "ε below 6, and shares within what we need")
    keys.fill("textbox", "Who decided", "The board")
    keys.look("plan-form")
    keys.press("button", "Make the plan")
    page.get_by_role("button", name="Plan (JSON, internal)").wait_for(timeout=120_000)
    settled(page)
    keys.look("plan")
    return [keys.save(name, directory) for name in ("Plan (JSON, internal)", "Record of the decision (HTML)")]


def finished(page, count):
    """Every row has numbers and none is older than the choices."""
    page.wait_for_function(
        """count => { const b = document.querySelector('.board');
        return b && !b.classList.contains('stale') && !b.querySelector('tr.old, td.missing')
          && b.querySelectorAll('td.epsilon').length === count; }""",
        arg=count,
        timeout=180_000,
    )
    settled(page)


@pytest.mark.slow
@pytest.mark.parametrize(
    "size", ["laptop", *(pytest.param(s, marks=pytest.mark.long) for s in SIZES if s != "laptop")]
)
@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_from_an_unknown_file_to_a_plan_and_slides(new_page, tmp_path, size, theme):
    page = new_page(theme=theme)
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    keys, file = Keyboard(page, f"{size}-{theme}"), tmp_path / "people.csv"
    extract(file)
    describe(keys, file)
    slides = compare(keys, tmp_path)
    plan, record = plan_it(keys, tmp_path)
    decided = read_plan(plan)
    assert (decided.mechanism, decided.settings.epsilon, len(decided.blocks)) == ("measured", 5.0, 4)
    assert decided.settings.weight == "PWGTP" and decided.settings.rules == tuple(RULES.values())
    assert decided.reason.startswith("ε below 6") and "The board" in record.read_text(encoding="utf-8")
    titles = [
        shape.text_frame.text
        for slide in Presentation(slides).slides
        for shape in slide.shapes
        if shape.has_text_frame
    ]
    assert any("Side by side" in title for title in titles)
