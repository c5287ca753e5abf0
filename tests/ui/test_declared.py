"""What the codebook declares is not asked again in the app, and what it rules out is not offered; settings carry it."""

from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import make_settings
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.readers import ReadOptions
from synth_core.data.table import read_table
from synth_core.errors import InputError
from synth_core.release.plan.settings_file import from_bytes
from synth_core.ui.data import codebook
from synth_core.ui.shared.declared import _following
from synth_core.ui.state.choices import Choices

BOOK = Codebook(
    columns=(
        Entry(column="person", kind="identifier"),
        Entry(column="remark", kind="text"),
        Entry(column="wealth", kind="number", decimal=",", role="sensitive", bounds=(0.0, 9.0)),
        Entry(column="work", kind="ordered", categories=("low", "high")),
    )
)


def table(book=BOOK, seed=2):
    rng = np.random.default_rng(seed)
    rows = [
        f"{i};r{i};{f'{rng.uniform(0.5, 8):.2f}'.replace('.', ',')};{rng.choice(['low', 'high'])};"
        f"{rng.integers(20, 90)}"
        for i in range(60)
    ]
    text = "\n".join(["person;remark;wealth;work;age", *rows, ""])
    return read_table(text.encode(), "mine.csv", ReadOptions(codebook=book or Codebook()))


def page():
    import streamlit as st

    from synth_core.ui.compare import share
    from synth_core.ui.data import columns, details
    from synth_core.ui.data.readiness import readiness
    from synth_core.ui.state import session
    from tests.ui.conftest import start_and_change
    from tests.ui.test_declared import table

    start_and_change(table)
    ready = readiness()
    st.session_state["rows"] = {row["name"]: row for row in columns.rows(ready, {})}
    details.show(ready, {})
    share.settings_menu()
    st.session_state["now"] = session.current()


def opened(*book):
    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["book"] = book
    return app.run()


def change(app, *what):
    app.session_state["changes"] = [what]
    return app.run()


def test_what_is_ruled_out_is_not_offered_and_says_why():
    app = opened()
    assert not app.exception
    rows = app.session_state["rows"]
    assert rows["person"]["roles"] == rows["remark"]["roles"] == ["not used", "unit"]
    assert "sensitive" in rows["age"]["roles"] and "public, predictor" in rows["age"]["roles"]
    assert (
        rows["wealth"]["role"] == "sensitive" and "public, predictor" in rows["wealth"]["roles"]
    )  # redeclared
    for name, why in (("person", "an identifier"), ("remark", "free text")):
        change(app, name, "open", True)
        assert any(
            each.value.startswith(f"Declared {why}, so neither") and "never released" in each.value
            for each in app.caption
        )


def test_declared_bounds_and_categories_are_there_when_the_model_asks():
    app = opened()
    assert app.session_state["now"].choices.bounds == (0.0, 9.0)
    pick = next(each for each in app.selectbox if each.label == "Model")
    pick.set_value("beta").run()
    assert app.session_state["now"].choices.bounds == (0.0, 9.0)
    change(app, "work", "role", "sensitive")
    change(app, "wealth", "role", "not used")
    next(each for each in app.selectbox if each.label == "Model").set_value("ordered").run()
    assert app.session_state["now"].choices.settings.categories == ("low", "high")
    assert (
        next(each for each in app.text_input if each.label.startswith("Declared categories")).value
        == "low, high"
    )


def test_a_category_that_holds_a_comma_is_declared_where_the_model_asks():
    """It was taken apart, quoted or not, and with | too, which the box of the codebook reads."""
    app = opened()
    change(app, "work", "role", "sensitive")
    change(app, "wealth", "role", "not used")
    next(each for each in app.selectbox if each.label == "Model").set_value("ordered").run()
    box = next(each for each in app.text_input if each.label.startswith("Declared categories"))
    box.set_value("low, or none | high").run()
    assert app.session_state["now"].choices.settings.categories == ("low, or none", "high")
    change(app, "age", "open", True)
    change(app, "work", "open", True)
    box = next(each for each in app.text_input if each.label.startswith("Declared categories"))
    assert box.value == "low, or none|high"


def test_bounds_of_the_codebook_are_those_of_every_sensitive_variable():
    """A file had amounts beyond 5,000 although that was declared: another variable was open."""
    app = opened()
    change(app, "work", "role", "sensitive")
    blocks = {block.name: block for block in app.session_state["now"].choices.whole}
    assert blocks["wealth"].options["bounds"] == (0.0, 9.0) and "bounds" not in blocks["work"].options


def test_categories_of_the_codebook_are_those_of_every_sensitive_variable_that_has_none():
    """A codebook taken from a file described the variable that was open, and asked for those of the next."""
    asked, chosen = Block("work", "ordered"), Block("work", "ordered", {"categories": ("no", "yes")})
    assert _following(asked, BOOK, None).options["categories"] == ("low", "high")
    assert _following(chosen, BOOK, None) == chosen


@pytest.mark.parametrize(("name", "taken"), [("WEALTH", False), ("wealth", True)])
def test_a_codebook_of_other_columns_is_refused_in_words(monkeypatch, name, taken):
    """It was taken without a word, and nothing was declared."""
    file = SimpleNamespace(name="book.csv", getvalue=lambda: f"column,kind\n{name},number\n".encode())
    read = []
    monkeypatch.setattr(codebook.st, "session_state", {"codebook_file": file})
    monkeypatch.setattr(codebook.session, "current", lambda: SimpleNamespace(table=table()))
    monkeypatch.setattr(codebook.session, "read_again", read.append)
    if taken:
        codebook._take_codebook()
    else:
        with pytest.raises(
            InputError, match="none of the table's columns: it has WEALTH …, and the table person, "
        ):
            codebook._take_codebook()
    assert len(read) == taken


def test_bounds_that_were_typed_stay_when_another_variable_is_opened():
    wealth, work = Block("wealth", "two_part"), Block("work", "ordered", {"categories": ("low", "high")})
    choices = Choices(settings=make_settings(outcome="wealth", model="two_part"), blocks=(wealth, work))
    typed = choices.model_copy(update={"lower_bound": 0.0, "upper_bound": 500.0})
    assert typed.describing("work").describing("wealth").bounds == (0.0, 500.0)
    assert typed.describing("work").bounds is None


def background_page():
    import streamlit as st

    from synth_core.jobs.task import TaskInput
    from synth_core.jobs.tasks import PointTask
    from synth_core.ui.shared import background
    from synth_core.ui.state import session
    from tests.ui.test_declared import table

    session.take_over()
    session.use_file(table())
    given = TaskInput.of(session.current().table, session.settings())
    background.start("map", [PointTask(given, "measured")])
    st.write("kept" if background.current("map") is not None else "gone")
    background.stop("map")


def test_work_in_the_background_on_a_table_with_a_codebook_is_not_dropped():
    """No map, search or study of an uploaded file ever began: it was taken for one of another table."""
    app = AppTest.from_function(background_page, default_timeout=30).run()
    assert not app.exception and app.markdown[-1].value == "kept"


def test_saved_settings_carry_the_codebook_and_bring_it_back():
    from synth_core.release.plan.settings_file import to_link, to_text

    app = opened()
    now = app.session_state["now"]
    text = to_text(now.settings(), ["weighted"], codebook=now.table.declared_codebook)
    assert from_bytes(text.encode()).codebook == BOOK
    assert from_bytes(to_text(now.settings(), ["weighted"]).encode()).codebook is None
    assert to_link(to_text(now.settings(), ["weighted"]))

    def page_that_takes():
        import streamlit as st

        from synth_core.release.plan.settings_file import from_bytes
        from synth_core.ui.compare import share
        from synth_core.ui.state import session
        from tests.ui.test_declared import table

        session.use_file(table(*st.session_state["book"]))
        before = session.current().table.codebook.digest
        share._take(from_bytes(st.session_state["file"].encode()))
        st.session_state["now"] = session.current()
        st.session_state["before"] = before

    app = AppTest.from_function(page_that_takes, default_timeout=30)
    app.session_state["book"], app.session_state["file"] = (Codebook(),), text
    app.run()
    assert not app.exception
    again = app.session_state["now"].table
    assert again.declared_codebook == BOOK and again.codebook.digest != app.session_state["before"]
    assert again.codebook.get("person").kind == "identifier" and again.frame["wealth"].dtype == np.float64
    assert app.session_state["now"].choices.settings.outcome == "wealth"


def test_a_rule_of_the_only_sensitive_variable_is_kept_by_whole_records_of_one():
    rule = "age < 30 -> wealth = 0"
    columns = [
        each.model_copy(update={"rules": (rule,)}) if each.column == "wealth" else each
        for each in BOOK.columns
    ]
    ruled = BOOK.model_copy(update={"columns": tuple(columns)})
    app = opened(ruled)
    assert not app.exception and app.session_state["now"].choices.settings.outcome == "wealth"
    assert any("Kept by every synthetic record" in caption.value for caption in app.caption)
    browser = app.session_state["now"]
    assert [block.name for block in browser.choices.whole] == ["wealth"]
    assert browser.settings_under(browser.choices).rules == (rule,)
    whole = browser.choices.model_copy(
        update={
            "blocks": (
                Block("wealth", "lognormal"),
                Block("work", "ordered", {"categories": ("low", "high")}),
            )
        }
    )
    assert browser.settings_under(whole).rules == (rule,)


def test_cells_of_the_table_of_columns_as_attributes():
    from synth_core.ui.data.codebook import BLANK, attributes

    entry = Entry(
        column="x", kind="ordered", categories=("1", "2"), labels=("a", "b"), bounds=(0.0, 1.0), role="public"
    )
    assert attributes(entry, {"role": BLANK, "bounds": None}) == {"role": "", "bounds": None}
    assert attributes(entry, {"categories": "1|2|3"}) == {"categories": ("1", "2", "3"), "labels": ()}
    assert attributes(entry, {"categories": "2|1"}) == {"categories": ("2", "1")}
    assert attributes(entry, {"bounds": "0 to 9.5"})["bounds"] == ("0", "9.5")
    assert attributes(entry, {"thousands": "."}) == {"thousands": ".", "decimal": ","}
    assert attributes(entry, {"decimal": BLANK, "kind": "number"}) == {"kind": "number"}
    with pytest.raises(InputError, match="0 to 100"):
        attributes(entry, {"bounds": "9"})


def frozen_page():
    import streamlit as st

    from synth_core.ui.state import session
    from tests.ui.conftest import start_and_change
    from tests.ui.test_declared import table

    if st.session_state.pop("freeze", False):
        session.attempt("reference", session.use_reference, table(None, seed=3))
    if scale := st.session_state.pop("scale", None):
        session.change(session.choices().with_settings(scale=scale))
    start_and_change(table)
    st.session_state["inherited"] = session.current().inherited
    session.show_message("reference")
    session.show_message("columns")
    reference = session.current().reference
    st.session_state["kinds"] = [
        None if each is None else each.codebook.get("age").kind
        for each in (session.current().table, reference)
    ]


def test_a_table_that_risks_are_frozen_on_is_read_as_the_one_in_use_and_stays_with_another_reading_of_it():
    """Another kind of a column put it aside without a word, and weights were those of the table again; read by itself
    its columns were "a number in one table and a category in the other", which nobody could change.
    """
    app = AppTest.from_function(frozen_page, default_timeout=30)
    app.session_state["book"] = ()
    app.run()
    assert not app.exception and app.session_state["kinds"] == ["number", None]
    app.session_state["freeze"] = True
    assert app.run().session_state["kinds"] == ["number", "number"]
    app.session_state["scale"] = 0.3
    change(app, "age", "kind", "category")
    assert not app.exception and not app.error and app.session_state["kinds"] == ["category", "category"]
    assert app.session_state["inherited"] == {}  # "kept from the table before", it was said
    app.session_state["freeze"] = True
    assert app.run().session_state["kinds"] == ["category", "category"]
