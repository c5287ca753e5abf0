"""Slides and one file from the page Compare, opened as who receives them would."""

import io

import pytest
from playwright.sync_api import expect
from pptx import Presentation

from tests.browser.conftest import painted, settled
from tests.browser.test_scenarios import close_panel, fill, open_panel

pytestmark = [pytest.mark.browser, pytest.mark.stan]


def saved(page, button):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    return waiting.value


def test_the_picture_leaves_as_slides_and_as_one_file(new_page, chromium):
    page = new_page()
    painted(page)
    open_panel(page, "Rule")
    fill(page, "ε of all data sets together, at most", "5", "textbox")
    close_panel(page)
    expect(page.locator(".board .verdict")).to_have_count(2)
    settled(page)
    shown = page.locator(".board td.epsilon").all_inner_texts()
    page.get_by_role("button", name="Slides and file").click()
    slides = saved(page, "PowerPoint")
    assert slides.suggested_filename == "briefing.pptx"  # the example is public
    with open(slides.path(), "rb") as stream:
        deck = Presentation(io.BytesIO(stream.read()))
    cells = [
        cell.text
        for slide in deck.slides
        for shape in slide.shapes
        if shape.has_table
        for row in shape.table.rows
        for cell in row.cells
    ]
    for epsilon in shown:
        assert any(text.startswith(f"{epsilon} (") for text in cells), (epsilon, cells)
    assert cells.count("✗ fails") == 2  # the rule of this browser, though the file is made apart from it
    file = saved(page, "HTML file")
    page.keyboard.press("Escape")
    context = chromium.new_context(offline=True, viewport={"width": 1280, "height": 720})
    try:
        reader = context.new_page()
        problems = []
        reader.on("pageerror", lambda error: problems.append(str(error)))
        reader.on("console", lambda message: problems.append(message.text))
        reader.set_content(file.path().read_text(encoding="utf-8"))
        reader.get_by_role("heading", name="Releasing synthetic inc").wait_for()
        for _ in range(4):
            reader.keyboard.press("ArrowRight")
        reader.locator("section.shown .main-svg").first.wait_for()
        sizes = reader.evaluate(
            """() => [...document.querySelectorAll('section.shown *')]
            .filter((e) => !e.childElementCount && e.textContent.trim() && e.getClientRects().length)
            .map((e) => parseFloat(getComputedStyle(e).fontSize))"""
        )
        assert min(sizes) >= 18
        assert not problems, problems
    finally:
        context.close()
