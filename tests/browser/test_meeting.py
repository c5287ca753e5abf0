"""An hour with directors in ten minutes, by the keyboard alone: an unknown file becomes a plan and a file of slides.

`MEETING_PICTURES=DIRECTORY` keeps a picture of each step.
"""

import gzip
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from pptx import Presentation

from synth_core.release.plan.plan import read_plan
from tests.browser.conftest import painted, settled
from tests.conftest import SHARED_DATA

FILE = SHARED_DATA / "ce_2014q1_rpms010.csv.gz"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.stan,
    pytest.mark.skipif(not FILE.is_file(), reason="the Consumer Expenditure file is not here"),
]

PICTURES = os.environ.get("MEETING_PICTURES")
SIZES = {"laptop": (1440, 900), "projector": (1920, 1080), "small": (1280, 720), "phone": (390, 844)}


class Keyboard:
    """A page that is used without a pointer; every step leaves a picture where pictures are asked for."""

    def __init__(self, page, name):
        self.page, self.name, self.steps = page, name, 0

    def to(self, role, name):
        """Press Tab until the element has the focus; returns it."""
        if role == "summary":  # of a part that opens
            found = self.page.locator("summary", has_text=name)
        else:
            found = self.page.get_by_role(role, name=name, exact=isinstance(name, str))
        for _ in range(300):
            if found.count() and found.first.evaluate(
                "e => e === document.activeElement || e.contains(document.activeElement)"
            ):
                return found.first
            self.page.keyboard.press("Tab")
        raise AssertionError(f"the Tab key does not come to the {role} {name}")

    def press(self, role, name, key="Enter"):
        self.to(role, name)
        self.page.keyboard.press(key)
        settled(self.page)

    def choose(self, label, *options):
        """Type each option's name into a box and take it."""
        self.to("combobox", label)
        for option in options:
            self.page.keyboard.type(option)
            self.page.get_by_role("option", name=option, exact=True).wait_for()
            self.page.keyboard.press("Enter")
            settled(self.page)
        if self.page.get_by_role("listbox").count():  # one that takes several stays open
            self.page.keyboard.press("Escape")
        settled(self.page)

    def role(self, column, role):
        """Find a column in the table of columns, and choose its role by the first letter."""
        self.to("searchbox", "Find a column")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(column)
        box = self.to("combobox", f"Role of {column}")
        if box.input_value() != role:
            self.page.keyboard.press(role[0])
        settled(self.page)
        expect(self.page.get_by_role("combobox", name=f"Role of {column}", exact=True)).to_have_value(role)

    def fill(self, role, label, text):
        """What is typed while an older run ends can be overtaken by it: one types again."""
        for _ in range(3):
            box = self.to(role, label)
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
            self.page.keyboard.press("Tab")
            settled(self.page)
            if role != "spinbutton" or float(box.input_value()) == float(text):
                return

    def look(self, step):
        """Nothing may be wider than the window; keep a picture."""
        settled(self.page)
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
        if PICTURES:
            self.steps += 1
            Path(PICTURES).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(PICTURES) / f"{self.name}-{self.steps:02d}-{step}.png")


def describe(keys, file):
    """From the first visit to a table with a model that is said to fit, and an anchor."""
    page, first = keys.page, painted(keys.page)
    keys.look("first-visit")

    keys.press("link", re.compile("Use my own table"))
    with page.expect_file_chooser() as chooser:
        keys.press("button", re.compile("Upload|Browse"))
    chooser.value.set_files(file)
    page.get_by_text("expenditure.csv is loaded and in use").wait_for()
    settled(page)
    keys.look("uploaded")
    opened_with = page.evaluate(
        """() => [...document.querySelectorAll('.columns tbody tr')]
        .filter(tr => tr.querySelector('select').value === 'sensitive').map(tr => tr.dataset.column)"""
    )
    keys.role("FINCBTAX", "sensitive")
    for name in set(opened_with) - {"FINCBTAX"}:
        keys.role(name, "not used")
    for name in ("AGE_REF", "REGION", "SEX_REF"):
        keys.role(name, "predictor")
    keys.choose("What is publicly known of the variable", "Amounts, some of them below zero")
    keys.fill("spinbutton", "A typical value, publicly known", "50000")
    keys.look("proposal")
    keys.press("button", "Use this proposal")
    keys.press("button", "Check the fit")
    painted(page, first)
    keys.look("does-it-fit")
    keys.press("summary", "Anchor of anchored censoring")
    keys.fill("spinbutton", "Half of all values lie between", "20000")
    keys.fill("spinbutton", "and", "100000")
    keys.look("anchor")


def compare(keys, directory):
    """Two scenarios under a rule, presented; returns the file of slides."""
    page = keys.page
    keys.press("link", "Compare")
    keys.press("button", "Presets")
    keys.to("radio", re.compile("Papers' default"))
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    settled(page)
    keys.press("button", "Use this preset")
    page.keyboard.press("Escape")
    finished(page, 3)
    keys.look("half-an-epsilon")
    keys.press("button", "Rule")
    keys.fill("spinbutton", "ε of all data sets together, at most", "1")
    page.keyboard.press("Escape")
    keys.press("button", "Pin as A")
    keys.fill("spinbutton", "Target ε, as a number", "1")
    expect(page.locator(".board td.epsilon").last).to_contain_text("1.00", timeout=180_000)
    finished(page, 3)
    keys.look("two-scenarios")
    verdicts = page.locator(".board .verdict").all_inner_texts()
    assert verdicts[2].startswith("✓ passes"), verdicts
    keys.press("button", "Present")
    keys.look("presented")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".stage-title")).to_have_text("A")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".stage-title")).to_have_text("Synthetic FINCBTAX")
    page.keyboard.press("f")
    keys.look("presented-four")
    page.keyboard.press("Escape")
    finished(page, 3)
    keys.press("button", "Slides and file")
    keys.look("slides")
    with page.expect_download() as download:
        keys.press("button", "PowerPoint")
    slides = directory / download.value.suggested_filename
    download.value.save_as(slides)
    page.keyboard.press("Escape")
    return slides


def plan_it(keys, directory):
    """The plan's file."""
    page = keys.page
    keys.press("link", "Release")
    keys.choose("The table named above is", "the confidential data to be released")
    keys.fill("textbox", "Why these settings", "ε below 1, and incomes within what we need")
    keys.fill("textbox", "Who decided", "The board")
    keys.look("plan-form")
    keys.press("button", "Make the plan")
    with page.expect_download(timeout=120_000) as download:
        page.get_by_role("button", name="Plan (JSON, internal)").wait_for(timeout=120_000)
        settled(page)
        keys.look("plan")
        keys.press("button", "Plan (JSON, internal)")
    plan = directory / "plan.json"
    download.value.save_as(plan)
    return plan


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
    keys, file = Keyboard(page, f"{size}-{theme}"), tmp_path / "expenditure.csv"
    file.write_bytes(gzip.decompress(FILE.read_bytes()))
    describe(keys, file)
    slides = compare(keys, tmp_path)
    decided = read_plan(plan_it(keys, tmp_path))
    assert (decided.mechanism, decided.settings.epsilon, decided.settings.model) == (
        "anchored",
        1.0,
        "two_part",
    )
    assert decided.reason.startswith("ε below 1")
    titles = [
        shape.text_frame.text
        for slide in Presentation(slides).slides
        for shape in slide.shapes
        if shape.has_text_frame
    ]
    assert any("Side by side" in title for title in titles)
