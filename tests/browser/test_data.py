"""The page Data: which values mean missing, which sheet is read, what a model is proposed for."""

import io

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import fixture_file, pick, set_role, settled, upload

pytestmark = [pytest.mark.browser, pytest.mark.stan]

ROWS = 60
PAY = pd.DataFrame(
    {
        "age": [20 + i % 30 for i in range(ROWS)],
        "pay": ["N" if i % 6 == 0 else "-9" if i % 6 == 1 else str(900 + 7 * i) for i in range(ROWS)],
        "flag": ["N" if i % 2 else "Y" for i in range(ROWS)],
    }
)


def csv(frame):
    return {"name": "pay.csv", "mimeType": "text/csv", "buffer": frame.to_csv(index=False).encode()}


def test_a_lone_text_is_proposed_and_a_number_is_typed(new_page):
    page = new_page("/data")
    upload(page, csv(PAY))
    page.get_by_text("N is the only text among the numbers of pay (10 rows)").wait_for()
    page.get_by_role("button", name="N means missing").click()
    page.get_by_text("some of its values are below zero: hence its model").wait_for()
    settled(page)
    expect(page.get_by_role("button", name="N means missing")).to_have_count(0)
    expect(page.get_by_test_id("stMultiSelect").first).to_contain_text("pay=N")  # N is a category of the flag
    box = page.get_by_role("combobox", name="Values that mean missing")
    box.fill("-9")
    box.press("Enter")
    page.get_by_text("40 complete rows of 60").wait_for()
    settled(page)
    box = page.get_by_role("combobox", name="Values that mean missing")
    box.fill("pya=3")
    box.press("Enter")
    page.get_by_text("There is no column 'pya'").wait_for()
    settled(page)
    expect(page.get_by_test_id("stMultiSelect").first).not_to_contain_text("pya=3")
    page.get_by_text("40 complete rows of 60").wait_for()


@pytest.mark.long
def test_a_sheet_is_chosen_by_its_name(new_page):
    stream = io.BytesIO()
    with pd.ExcelWriter(stream) as writer:
        PAY.head(20).to_excel(writer, sheet_name="Notes", index=False)
        PAY[["age"]].to_excel(writer, sheet_name="Ages 2025", index=False)
    page = new_page("/data")
    upload(page, {"name": "pay.xlsx", "mimeType": "application/octet-stream", "buffer": stream.getvalue()})
    page.get_by_text("sheet Notes").wait_for()
    pick(page, "Sheet, of 2", "Ages 2025")
    page.get_by_text("sheet Ages 2025").wait_for()
    page.get_by_text("60 complete rows of 60").wait_for()
    settled(page)
    page.get_by_text("The table is confidential").click()  # read again, the same sheet of it
    page.get_by_text("declared not confidential").wait_for()
    page.get_by_text("sheet Ages 2025").wait_for()
    settled(page)


@pytest.mark.long
def test_how_one_file_was_read_does_not_count_for_the_next(new_page):
    page = new_page("/data")
    upload(page, csv(PAY))
    page.get_by_text("The table is confidential").click()
    page.get_by_text("declared not confidential").wait_for()
    settled(page)
    page.get_by_text("How to read a text file").click()
    settled(page)
    pick(page, "Decimal sign", "comma")
    page.get_by_text("decimal comma").wait_for()
    settled(page)
    file = {"name": "next.csv", "mimeType": "text/csv", "buffer": PAY.to_csv(index=False).encode()}
    page.get_by_test_id("stTabs").locator("input[type=file]").set_input_files(file)
    page.get_by_text("next.csv (CONFIDENTIAL)").wait_for()
    page.get_by_text("decimal point").wait_for()
    settled(page)
    expect(page.get_by_role("checkbox", name="The table is confidential")).to_be_checked()


def test_a_model_is_proposed_from_what_is_said_and_from_a_look(new_page):
    """48 losses are no zeros: asinh takes them. Said, nothing is read from the table; looked at, the leak is said."""
    frame = pd.DataFrame(
        {"pay": [-5.0 * i for i in range(1, 49)] + [0.0] * 60 + [40.0 * i for i in range(1, 300)]}
    )
    page = new_page("/data")
    upload(page, csv(frame))
    page.get_by_text("some of its values are below zero: hence its model").wait_for()
    page.get_by_role("button", name="Look at the table instead").click()
    page.get_by_text("48 of 407 values are below zero.").wait_for()
    page.get_by_text("is a choice that no ε counts").wait_for()
    page.get_by_text("about linear within 2,000 of zero").wait_for()
    settled(page)
    pick(page, "What is publicly known of the variable", "Amounts, some of them below zero")
    page.get_by_text("Nothing was read from the table.").wait_for()
    expect(page.get_by_text("of 407 values are below zero")).to_have_count(0)
    settled(page)
    page.get_by_role("spinbutton", name="A typical value, publicly known").fill("2500")
    page.get_by_role("spinbutton", name="A typical value, publicly known").press("Enter")
    page.get_by_text("density per 1,000 of the table's unit").wait_for()
    settled(page)
    page.get_by_role("button", name="Use this proposal").click()
    page.get_by_text("407 complete rows of 407").wait_for()
    settled(page)


def test_what_can_be_read_in_two_ways_is_asked(new_page):
    """Each comma stands before three digits: the column waits for an answer."""
    page = new_page("/data")
    rows = "".join(f"{20 + i % 40};{10 + i * 37 % 80},{100 + 7 * i % 900:03d}\n" for i in range(60))
    content = ("age;amount\n" + rows).encode()
    upload(page, {"name": "amounts.csv", "mimeType": "text/csv", "buffer": content})
    page.get_by_text("Column 'amount' can be read in two ways").first.wait_for()
    page.get_by_text("How to read a text file").click()
    settled(page)
    pick(page, "Sign of thousands", "comma")
    page.get_by_text("sensitive variable amount").wait_for()
    expect(page.get_by_text("can be read in two ways")).to_have_count(0)


def test_a_panel_stays_open_when_a_refusal_appears_above_it(new_page, tmp_path):
    page = new_page("/data")
    content = b"age,pay\n" + b"".join(b"%d,%d\n" % (20 + i % 40, 900 + 37 * i % 1000) for i in range(60))
    upload(page, fixture_file("own.csv", content, tmp_path))
    panel = page.locator("details", has_text="What the codebook declares of this column")
    panel.locator("summary").click()
    rules = page.get_by_label("Rules", exact=True)
    rules.fill("age < 20 or so")
    rules.press("Enter")
    settled(page)
    expect(rules).to_be_visible()
    assert panel.get_attribute("open") is not None


def test_a_codebook_that_is_refused_says_so_beside_its_file(new_page, tmp_path):
    """Not below the column that is open, where nobody who chose the file looks."""
    page = new_page("/data")
    upload(page, csv(PAY))
    page.get_by_text("Codebook: save it, or take one from a file").click()
    settled(page)
    panel = page.locator(".st-key-codebook_panel")
    book = b'{"columns": [{"column": "flag", "kind": "none"}]}'
    panel.locator("input[type=file]").set_input_files(fixture_file("book.json", book, tmp_path))
    expect(panel.get_by_test_id("stAlertContentError")).to_contain_text("the entry of column 'flag' is wrong")


def test_all_columns_of_the_table_are_in_sight_beside_the_verdicts_of_fits(new_page):
    """The notes were cut at 1440 and at 1280, and a verdict took one long line."""
    page = new_page("/data")
    frame = PAY.assign(pay=[900 + 37 * i % 1000 for i in range(ROWS)], person=range(1, ROWS + 1))
    upload(page, csv(frame))
    set_role(page, "flag", "sensitive")
    box = page.get_by_role("textbox", name="Declared categories, separated by commas")
    box.fill("N, Y")
    box.press("Enter")
    settled(page)
    page.get_by_role("button", name="Check the fit").click()
    expect(page.locator(".columns .fit").filter(has_text="points off")).to_have_count(2, timeout=60_000)
    for width in (1440, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        assert page.evaluate(
            "() => { const table = document.querySelector('.columns .scroll');"
            " return table.scrollWidth <= table.clientWidth; }"
        ), width
        note = page.locator(".columns td.words span").filter(has_text="seems to be an ID; whole numbers")
        hidden = note.evaluate("e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]")
        assert hidden[0] <= 0 and hidden[1] < 5, width  # of a third line there would be 15
