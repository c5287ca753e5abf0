"""The page Data as one table: roles, proposals of a new table, what is next, in one state."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from synth_core.analysis.records.feasible import refusal
from synth_core.data.codebook import ROLE_WORDS, Codebook, Entry
from synth_core.data.readers import ReadOptions
from synth_core.data.rules import typeset
from synth_core.data.table import Table, read_table
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.ui.data import columns, roles
from synth_core.ui.state.choices import MAPPED, USUAL_MECHANISMS
from synth_core.ui.state.first_choices import first_choices

N = 90
BOOK = Codebook(
    columns=(
        Entry(column="income", kind="number", role="sensitive", bounds=(0.0, 1e6)),
        Entry(column="degree", kind="ordered", role="sensitive", categories=("low", "mid", "high")),
        Entry(column="wt", kind="number", role="weight"),
        Entry(column="hh", kind="number", role="unit"),
        Entry(column="region", kind="category", role="public"),
    )
)


def frame():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "income": np.where(rng.random(N) < 0.2, 0.0, rng.lognormal(9, 1, N).round(2)),
            "degree": rng.choice(["low", "mid", "high"], N),
            "wt": rng.uniform(1, 3, N).round(3),
            "hh": np.arange(N) // 2 + 10_000,
            "region": rng.choice(["N", "S"], N),
            "age": rng.integers(18, 90, N),
            "school": rng.integers(1, 13, N),
            "sex": rng.integers(1, 4, N),
        }
    )


def table(book=Codebook()):
    return read_table(frame().to_csv(index=False).encode(), "mine.csv", ReadOptions(codebook=book))


def test_a_table_opens_with_what_its_codebook_declares():
    """Sensitive variables, their models, weight and unit; no model refuses what its bounds allow."""
    chosen = first_choices().opening(table(BOOK))
    assert [(b.name, b.model) for b in chosen.whole] == [("income", "two_part"), ("degree", "ordered")]
    assert chosen.settings.weight == "wt" and chosen.settings.unit_column == "hh"
    assert chosen.bounds == (0.0, 1e6)
    assert chosen.describing("degree").settings.categories == ("low", "mid", "high")
    found = {c.name: roles.role_of(chosen, table(BOOK), c.name) for c in table(BOOK).columns}
    assert found == {
        "income": "sensitive",
        "degree": "sensitive",
        "wt": "weight",
        "hh": "unit",
        "region": "public, kept",
        "age": "not used",
        "school": "not used",
        "sex": "not used",
    }


def test_a_sensitive_column_with_declared_marks_of_missing_values_may_be_missing():
    """The box beside it was not ticked, and its rows were left out."""
    marked = [
        Entry(column="income", kind="number", role="sensitive", missing=("-9",)),
        Entry(column="age", kind="number", missing=("99",)),
    ]
    used = table(BOOK.updated(marked))
    chosen = roles.with_role(first_choices().opening(used), used, "age", roles.SENSITIVE)
    assert {b.name: b.missing for b in chosen.whole} == {"income": (), "degree": None, "age": ()}


@pytest.mark.parametrize(
    ("shift", "model", "scale"), [(1, "lognormal", "log"), (0, "two_part", "log"), (-9, "two_part", "asinh")]
)
def test_an_undeclared_number_opens_with_a_model_that_takes_it(shift, model, scale):
    values = np.where(np.arange(N) % 5 == 0, 0.0, np.linspace(5, 5000, N)) + shift
    chosen = first_choices().opening(Table("t.csv", pd.DataFrame({"x": values})))
    assert (chosen.settings.model, chosen.settings.transformation) == (model, scale)


def test_roles_are_read_off_the_choices_and_one_is_always_sensitive():
    used, chosen = table(), first_choices().opening(table())
    first = chosen.settings.outcome
    chosen = roles.with_role(chosen, used, "degree", roles.SENSITIVE)
    assert roles.sensitive_names(chosen) == (first, "degree") and chosen.settings.outcome == "degree"
    chosen = roles.with_role(chosen, used, "age", roles.PREDICTOR)
    chosen = roles.with_role(chosen, used, "wt", roles.WEIGHT_TOO)
    assert chosen.settings.predictors == ("age", "wt") and chosen.settings.weight == "wt"
    assert roles.role_of(chosen, used, "wt") == roles.WEIGHT_TOO
    chosen = roles.with_role(chosen, used, "wt", roles.WEIGHT)
    assert chosen.settings.predictors == ("age",) and chosen.settings.weight == "wt"
    chosen = roles.with_role(chosen, used, "age", roles.SENSITIVE)  # a predictor no more
    assert chosen.settings.predictors == () and roles.sensitive_names(chosen) == (first, "degree", "age")
    chosen = roles.moved(chosen, "age", -1)
    assert roles.sensitive_names(chosen) == (first, "age", "degree")
    later = roles.moved(chosen, first, 1)
    assert roles.sensitive_names(later) == ("age", first, "degree")
    for name in ("age", "degree"):
        chosen = roles.with_role(chosen, used, name, roles.UNUSED)
    assert roles.sensitive_names(chosen) == (first,) and chosen.blocks == ()
    with pytest.raises(InputError, match="the only sensitive variable"):
        roles.with_role(chosen, used, first, roles.PREDICTOR)


def test_the_model_follows_the_kind_that_is_said_of_a_variable():
    """A code that was said to be a category kept its lognormal, and was called ready."""
    used, chosen = table(), first_choices().opening(table())
    chosen = roles.with_role(chosen, used, "age", roles.SENSITIVE)  # described now
    assert chosen.settings.model == "lognormal"
    ordered = roles.of_kind(chosen, used, "age", "ordered")
    assert ordered.settings.model == "ordered"
    said = ordered.with_settings(categories=("1", "2"))
    assert roles.of_kind(said, used, "age", "category").settings.categories == ("1", "2")
    assert roles.of_kind(said, used, "age", "number").settings.model == "lognormal"
    assert roles.of_kind(chosen, used, "age", "number") is chosen  # and keeps what was chosen for numbers
    other = roles.with_role(said, used, "school", roles.SENSITIVE)  # another is described now
    found = {b.name: b for b in roles.of_kind(other, used, "age", "category").whole}["age"]
    assert (found.model, found.options) == ("categorical", {"categories": ("1", "2")})
    assert roles.of_kind(other, used, "wt", "category") is other  # not sensitive


def test_a_codebook_may_say_every_role_as_the_screen_does():
    assert set(roles.ROLES) == set(ROLE_WORDS)


def test_codes_of_one_size_are_no_amounts():
    """Thirty occupations, 101 to 130, opened with a lognormal, ready to be fitted."""
    rng = np.random.default_rng(2)
    made = pd.DataFrame({"occupation": rng.integers(101, 131, 500), "wage": rng.integers(9, 60, 500)})
    used = Table("t.csv", made.assign(pay=rng.lognormal(9, 1, 500)))
    chosen = first_choices().opening(used)
    for name, model in (("occupation", "categorical"), ("wage", "lognormal")):
        assert roles.with_role(chosen, used, name, roles.SENSITIVE).settings.model == model


def test_what_the_codebook_must_declare_for_a_role():
    used = table(BOOK)
    assert roles.redeclared(used, "income", roles.PREDICTOR) == "public"  # else it is refused as a predictor
    assert roles.redeclared(used, "income", roles.UNUSED) is None  # it is never kept as it is
    assert roles.redeclared(used, "region", roles.UNUSED) == ""  # else it would be kept
    assert roles.redeclared(used, "region", roles.PREDICTOR) is None
    assert roles.redeclared(used, "age", roles.PUBLIC) == "public"
    assert roles.redeclared(used, "age", roles.SENSITIVE) is None


def page():
    import streamlit as st

    from synth_core.ui.data import columns, details, fit, next_step
    from synth_core.ui.data.readiness import readiness
    from synth_core.ui.state import session
    from tests.ui.conftest import start_and_change
    from tests.ui.test_columns import table

    start_and_change(table)
    ready = readiness()
    fits = fit.fits() if ready.ready else []  # none is asked for
    next_step.show(ready, fits)
    st.session_state["rows"] = columns.rows(ready, {each.name: each for each in fits})
    details.show(ready, {each.name: each for each in fits})
    session.show_message(columns.PLACE)
    st.session_state["now"] = session.current()


def opened(*book, changes=(), monkeypatch=None):
    monkeypatch.setattr("streamlit.page_link", lambda *words, **more: None)  # there are no other pages here
    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["book"], app.session_state["changes"] = book, list(changes)
    app.run()
    assert not app.exception
    return app


def test_the_rows_say_role_model_and_share(monkeypatch):
    app = opened(
        BOOK, changes=[("income", "share", "60"), ("degree", "may_be_missing", True)], monkeypatch=monkeypatch
    )
    rows = {row["name"]: row for row in app.session_state["rows"]}
    assert list(rows)[:4] == ["income", "degree", "wt", "hh"]  # those in use stand first
    assert rows["income"]["model"] == "1. Two-part regression" and rows["income"]["share"] == "60"
    assert rows["degree"]["equal"] == "40" and rows["degree"]["may_be_missing"] is True
    assert (
        rows["income"]["declared"] == "0 to 1,000,000" and rows["degree"]["declared"] == "3\u00a0categories"
    )
    assert rows["age"]["share"] is None and rows["age"]["role"] == "not used"
    blocks = {block.name: block for block in app.session_state["now"].choices.whole}
    assert blocks["income"].share == 0.6 and blocks["degree"].missing == ()
    json.dumps(app.session_state["rows"])


def changing_page():
    import json

    import streamlit as st

    from synth_core.ui.data import columns
    from synth_core.ui.state import session
    from tests.ui.conftest import start_and_change
    from tests.ui.test_columns import table

    start_and_change(table)
    st.session_state[columns.SEEN] = 0
    of = columns.file_of(session.current().table)
    sent = [
        {"number": 1, "name": "income", "field": "share", "value": "60", "of": of},
        {"number": 2, "name": "degree", "field": "may_be_missing", "value": True, "of": of},
        {"number": 3, "name": "income", "field": "share", "value": "20", "of": ["another table"]},
    ]
    for count in (
        1,
        2,
        3,
    ):  # the second comes with the first, the third is of a table that another tab has left
        st.session_state[columns.KEY] = {"changed": json.dumps(sent[:count])}
        columns._changed()
        if count == 1:
            columns._take("income", "share", "70")  # from elsewhere, since
    st.session_state["now"] = session.current()
    st.session_state["said"] = st.session_state.get(f"message_{columns.PLACE}", "")


def test_each_change_of_a_row_is_taken_once_in_order():
    """A busy server hears of the last trigger only: a kind was lost where a role followed at once."""
    app = AppTest.from_function(changing_page, default_timeout=30)
    app.session_state["book"] = (BOOK,)
    app.run()
    assert not app.exception
    blocks = {block.name: block for block in app.session_state["now"].choices.whole}
    assert (blocks["income"].share, blocks["degree"].missing) == (0.7, ())
    assert "what was chosen for income was not taken" in app.session_state["said"]


def kinds_page():
    import json

    import streamlit as st

    from synth_core.ui.data import columns
    from synth_core.ui.state import session
    from tests.ui.conftest import start_and_change
    from tests.ui.test_columns import table

    start_and_change(table)
    st.session_state[columns.SEEN] = 0
    of = columns.file_of(session.current().table)
    said = enumerate((("age", "ordered"), ("school", "category")), start=1)
    sent = [{"number": i, "name": name, "field": "kind", "value": kind, "of": of} for i, (name, kind) in said]
    st.session_state[columns.KEY] = {"changed": json.dumps(sent)}
    before = session.current().table.fingerprint
    columns._changed()
    st.session_state["now"], st.session_state["read_anew"] = (
        session.current(),
        before != session.current().table.fingerprint,
    )


def test_a_kind_that_follows_another_at_once_is_taken():
    """The first made the file be read anew, and the second was said to be of another table."""
    app = AppTest.from_function(kinds_page, default_timeout=30)
    app.session_state["book"] = (BOOK,)
    app.run()
    assert not app.exception and app.session_state["read_anew"]
    book = app.session_state["now"].table.codebook
    assert (book.get("age").kind, book.get("school").kind) == ("ordered", "category")


def test_a_kind_can_be_said_after_the_page_was_left(monkeypatch):
    """Back from another page the browser holds the file no more, and every menu of a kind was locked."""
    before = opened(BOOK, monkeypatch=monkeypatch)
    assert next(row for row in before.session_state["rows"] if row["name"] == "school")["kinds"]
    said = [("degree", "kind", "category"), ("school", "kind", "ordered"), ("age", "role", "public, kept")]
    app = opened(BOOK, changes=said, monkeypatch=monkeypatch)
    rows = {row["name"]: row for row in app.session_state["rows"]}
    assert (rows["degree"]["kind"], rows["school"]["kind"]) == ("category", "ordered")
    assert "declared here" in rows["school"]["note"] and rows["age"]["role"] == "public, kept"
    now = app.session_state["now"]
    assert [(b.name, b.model) for b in now.choices.whole] == [
        ("income", "two_part"),
        ("degree", "categorical"),
    ]
    assert now.table.codebook.get("degree").categories == ("low", "mid", "high")


def test_where_units_are_named_newcomers_mechanisms_are_those_of_records_and_none_is_refused():
    """Two of three rows said why they were refused, and nobody had chosen them."""
    used, chosen = table(), first_choices().opening(table())
    named = roles.with_role(chosen.with_mechanisms(*USUAL_MECHANISMS), used, "hh", roles.UNIT)
    assert named.settings.unit_column == "hh" and named.mechanisms == USUAL_MECHANISMS
    assert named.explore.mechanisms == chosen.mechanisms  # what Compare opened with
    for key in (*USUAL_MECHANISMS, *MAPPED):
        assert "unit of several" not in refusal(find_mechanism(key), named.settings)


def test_a_single_variable_keeps_its_rules_as_whole_records(monkeypatch):
    """Without a rule, and without missing values that count, it is of the settings alone."""
    rule = "age < 18 -> income missing"
    pay = Entry(column="income", kind="number", role="sensitive", rules=(rule,))
    book = Codebook(columns=(pay, Entry(column="age", kind="number", role="public")))
    app = opened(book, changes=[("age", "role", "public, predictor")], monkeypatch=monkeypatch)
    now = app.session_state["now"]
    assert [(b.name, b.missing, b.share) for b in now.choices.whole] == [("income", (), None)]
    assert now.settings().rules == (rule,)
    shared = now.choices.model_copy(update={"blocks": (replace(now.choices.whole[0], share=0.3),)})
    assert shared.by_rules(now.table).whole[0].share is None  # the others are gone: all of ε is its own
    row = app.session_state["rows"][0]
    assert (row["may_be_missing"], row["share"], row["model"]) == (True, None, "Two-part regression")
    said = [each.value.replace("\\", "").replace("\u2060", "") for each in app.caption]
    assert f"Kept by every synthetic record: {typeset(rule)}." in said
    app = opened(
        book,
        changes=[("age", "role", "public, predictor"), ("income", "may_be_missing", False)],
        monkeypatch=monkeypatch,
    )
    assert "A rule says in which records income is missing" in app.error[0].value
    now = opened(changes=[("age", "role", "public, predictor")], monkeypatch=monkeypatch).session_state["now"]
    assert now.choices.whole == () and now.choices.blocks == ()


def test_a_predictor_that_is_taken_as_a_category_is_said_to_be_one(monkeypatch):
    """ "It is a category" was pressed, and the table went on to say number: a proposal of the reader stood first."""
    changes = [("sex", "role", "public, predictor")]
    app = opened(changes=changes, monkeypatch=monkeypatch)
    next(each for each in app.button if each.label == "It is a category").click().run()
    kinds = {row["name"]: row["kind"] for row in app.session_state["rows"]}
    assert (kinds["sex"], kinds["age"]) == ("category", "number")
    assert app.session_state["now"].choices.settings.categorical == ("sex",)


def test_what_says_nothing_new_declares_nothing(monkeypatch):
    """A box that was drawn anew sent what stood there, and the file was read again as declared."""
    from synth_core.ui.data import codebook

    read = []
    monkeypatch.setattr(codebook.session, "read_again", read.append)
    monkeypatch.setattr("synth_core.ui.state.session.current", lambda: SimpleNamespace(table=table(BOOK)))
    codebook.declare("income", {"bounds": "0 to 1000000"})
    assert read == []
    codebook.declare("income", {"bounds": "0 to 2000000"})
    assert read[0].get("income").bounds == (0.0, 2e6)


def ruled_page():
    import streamlit as st

    from synth_core.ui.compare.rule import rule_popover
    from synth_core.ui.state import session
    from tests.ui.conftest import start_and_change
    from tests.ui.test_columns import table

    start_and_change(table)
    rule_popover()
    st.write(session.choices().policy.text)


def test_each_of_several_variables_may_have_a_limit_of_its_own():
    app = AppTest.from_function(ruled_page, default_timeout=30)
    app.session_state["book"] = (BOOK,)
    app.run()

    def box(label):
        return next((each for each in app.text_input if each.label == label), None)

    assert box("of income, in %") is None  # before one of all there is none
    box("Largest error, in %").set_value("5").run()
    assert box("of income, in %").placeholder == "as for all: 5"
    box("of income, in %").set_value("8").run()
    assert app.markdown[-1].value == "90th percentile within 5 % (income 8 %)"
    box("of income, in %").set_value("").run()
    assert app.markdown[-1].value == "90th percentile within 5 %"
    box("Largest error, in %").set_value("").run()
    assert box("of income, in %") is None
    assert not app.exception


def test_a_share_out_of_bounds_is_refused_in_words(monkeypatch):
    app = opened(BOOK, changes=[("income", "share", "120")], monkeypatch=monkeypatch)
    assert "must lie between 0.1 and 99.9 %" in app.error[0].value.replace("\\", "")


def test_no_table_opens_in_red(monkeypatch):
    app = opened(monkeypatch=monkeypatch)  # the income has zeros and nothing is declared of it
    assert [each.value for each in app.error] == []
    assert app.session_state["now"].choices.settings.model == "two_part"
    app = opened(BOOK, changes=[("hh", "role", "not used")], monkeypatch=monkeypatch)
    assert [each.value for each in app.error] == []


def test_a_code_under_a_lognormal_is_doubted_and_a_press_mends_it(monkeypatch):
    """Schooling coded 1 to 12 takes a logarithm well, and is no quantity."""
    app = opened(
        changes=[("school", "role", "sensitive"), ("income", "role", "not used")], monkeypatch=monkeypatch
    )
    assert app.session_state["now"].choices.settings.model == "categorical"  # which asks for its categories
    advice = "Which model? A proposal, with its reasons"
    assert advice not in [each.label for each in app.expander]  # no typical value is asked of a category
    next(each for each in app.selectbox if each.label == "Model").set_value("lognormal").run()
    assert advice in [each.label for each in app.expander]
    assert any("as codes have, and Lognormal regression would" in each.value for each in app.markdown)
    next(each for each in app.button if each.label.startswith("It is a count")).click().run()
    assert app.session_state["now"].choices.settings.model == "negative_binomial"
    assert not any("as codes have" in each.value for each in app.markdown)


def test_a_declared_category_under_a_lognormal_is_doubted(monkeypatch):
    """Of many codes too, of which no look can tell."""
    book = Codebook(columns=(Entry(column="age", kind="category", role="sensitive"),))
    app = opened(book, changes=[("income", "role", "not used")], monkeypatch=monkeypatch)
    assert app.session_state["now"].choices.settings.model == "categorical"
    next(each for each in app.selectbox if each.label == "Model").set_value("lognormal").run()
    assert any(
        "is declared a category, and Lognormal regression would" in each.value for each in app.markdown
    )


def test_a_model_that_refuses_the_values_offers_those_that_take_them(monkeypatch):
    app = opened(monkeypatch=monkeypatch)
    next(each for each in app.selectbox if each.label == "Model").set_value("lognormal").run()
    assert any("values are zero or negative" in each.value for each in app.markdown)
    offered = [each.label for each in app.button]
    assert any(label.startswith("Two-part on the logarithm (about") for label in offered)
    assert "Brackets (to be declared)" in offered
    assert not any(label.startswith("Lognormal") for label in offered)
    next(each for each in app.button if each.label.startswith("Two-part on the log")).click().run()
    assert app.session_state["now"].choices.settings.model == "two_part"
    assert any(each.value.startswith("Ready: 90 complete rows of 90") for each in app.markdown)
    assert app.session_state["now"].history  # it can be undone


def test_rows_whose_cells_may_be_empty_are_not_called_complete(monkeypatch):
    """ "7,244 complete rows of 7,244" stood over a table with 1,100 cells empty of a variable that may be missing."""
    app = opened(changes=[("income", "may_be_missing", True)], monkeypatch=monkeypatch)
    said = [each.value for each in app.markdown if each.value.startswith("Ready: ")]
    assert [line.split(".")[0] for line in said] == [
        "Ready: 90 rows of 90; of income missing values are used too"
    ]


def test_predictors_that_look_like_codes_become_categories_on_a_press(monkeypatch):
    changes = [
        ("hh", "role", "not used"),
        ("sex", "role", "public, predictor"),
        ("age", "role", "public, predictor"),
    ]
    app = opened(BOOK, changes=changes, monkeypatch=monkeypatch)
    assert any(each.value.startswith("Few whole numbers, as codes have: sex.") for each in app.caption)
    next(each for each in app.button if each.label == "It is a category").click().run()
    assert app.session_state["now"].choices.settings.categorical == ("sex",)
    assert not any("as codes have" in each.value for each in app.caption)


def test_the_row_of_a_variable_has_its_worst_fit():
    """Whether a value is missing is a fit too: where it has not converged the row says so."""

    from synth_core.ui.data.fit import worst_of

    def fit(name, variable, level, off=None):
        verdict = None if off is None else SimpleNamespace(largest=off)
        return SimpleNamespace(name=name, variable=variable, words=(level, ""), verdict=verdict)

    fits = [
        fit("pay is missing", "pay", "unknown"),
        fit("pay", "pay", "fits", 0.004),
        fit("sex", "sex", "roughly", 0.03),
        fit("rent is missing", "rent", "fits", 0.001),
        fit("rent", "rent", "fits", 0.034),
    ]
    assert worst_of(fits, "rent").name == "rent"  # of two that fit the one that is further off
    assert worst_of(fits, "pay").name == "pay is missing"
    assert worst_of(fits, "sex").name == "sex" and worst_of(fits, "age") is None


def fit_of_income(verdict, settings=None):
    """A fit that has ended, as the page has it."""
    return SimpleNamespace(
        name="income",
        variable="income",
        job=verdict,
        running=False,
        error="",
        verdict=verdict,
        settings=settings,
    )


def unsettled_page():
    import streamlit as st

    from synth_core.analysis.fit_verdict import fit_verdict
    from synth_core.ui.data import next_step
    from synth_core.ui.data.readiness import readiness
    from synth_core.ui.state import session
    from tests.ui.conftest import start_and_change
    from tests.ui.test_columns import fit_of_income, table

    start_and_change(table)
    verdict = fit_verdict(0.0, 90, ["R-hat is 1.02"], longer=st.session_state.get("longer", True))
    next_step.show(readiness(), [fit_of_income(verdict)])
    st.session_state["now"] = session.current()


def test_a_misfit_without_a_scale_asks_for_a_typical_value(monkeypatch):
    """An income in dollars under asinh over 1 was 9 points off; of brackets alone was spoken."""
    from synth_core.ui.data import next_step
    from synth_core.ui.state import session

    chosen = first_choices().opening(table())
    for model, changes, expected in (
        ("two_part", {"transformation": "asinh"}, True),
        ("two_part", {"transformation": "asinh", "asinh_scale": 2e4}, False),
        ("two_part", {}, False),
        ("beta", {"transformation": "asinh"}, False),
    ):
        now = SimpleNamespace(choices=chosen.with_settings(model=model, **changes))
        monkeypatch.setattr(session, "current", lambda now=now: now)
        assert next_step._without_scale("income") == expected


def test_a_fit_that_has_not_converged_is_taken_longer_by_a_press():
    app = AppTest.from_function(unsettled_page, default_timeout=30)
    app.session_state["book"] = ()
    app.run()
    words = next(each.value for each in app.markdown if "NOT converged" in each.value).replace("\\", "")
    assert words.endswith("so nothing can be said: R-hat is 1.02. To be tried:")
    before = app.session_state["now"].choices.settings
    next(each for each in app.button if each.label.startswith("Twice the draws")).click().run()
    after = app.session_state["now"].choices.settings
    assert (after.draws, after.warmup) == (2 * before.draws, 2 * before.warmup)


def test_what_more_draws_leave_as_it_is_is_not_met_with_more_draws():
    """Twice the draws was offered first beside "more draws do not help"."""
    app = AppTest.from_function(unsettled_page, default_timeout=30)
    app.session_state["book"], app.session_state["longer"] = (), False
    app.run()
    assert any("NOT converged" in each.value for each in app.markdown)
    assert not any(each.label.startswith("Twice the draws") for each in app.button)


def test_what_was_said_of_a_variable_is_not_asked_for_again(monkeypatch):
    """A proposal may be the model that the table opened with."""
    app = opened(monkeypatch=monkeypatch)
    assert any("Nothing is declared of income" in each.value for each in app.markdown)
    next(each for each in app.selectbox if each.label.startswith("What is publicly known")).set_value("zeros")
    next(each for each in app.number_input if each.label.startswith("A typical value")).set_value(
        9000.0
    ).run()
    next(each for each in app.button if each.label == "Use this proposal").click().run()
    assert app.session_state["now"].choices.settings.unit == 1000
    assert not any("Nothing is declared of income" in each.value for each in app.markdown)


def test_a_typical_value_without_a_kind_is_answered(monkeypatch):
    """It was given as was asked, and nothing came of it, without a word."""
    app = opened(monkeypatch=monkeypatch)
    words = "A typical value alone proposes nothing"
    assert not any(words in each.value for each in app.caption)
    next(each for each in app.number_input if each.label.startswith("A typical value")).set_value(9e3).run()
    assert any(words in each.value for each in app.caption)


def test_ordered_categories_open_with_a_model_of_their_order():
    """Before they are listed too: the model asks for them."""
    school = Entry(column="school", kind="ordered", role="sensitive")
    chosen = first_choices().opening(table(Codebook(columns=(school,))))
    assert (chosen.settings.outcome, chosen.settings.model) == ("school", "ordered")


def test_a_unit_whose_size_is_not_declared_is_opened(monkeypatch):
    """Two records of each household, and one was declared: said before a run, and asked where it is declared."""
    app = opened(BOOK, monkeypatch=monkeypatch)
    assert any("have more than 1 record" in each.value.replace("\\", "") for each in app.markdown)
    next(each for each in app.button if each.label == "Open hh").click().run()
    assert not app.exception
    next(each for each in app.number_input if each.label.startswith("Most records of a unit")).set_value(
        2
    ).run()
    assert not any("have more than 1 record" in each.value.replace("\\", "") for each in app.markdown)
    assert any(each.value.startswith("Ready: 90 complete rows") for each in app.markdown)


def test_a_variable_that_is_not_described_yet_breaks_no_page(monkeypatch):
    """Compare went down on categories that were still to be declared."""
    from synth_core.analysis.settings import make_settings
    from synth_core.release.plan.settings_file import chosen

    half = roles.with_role(first_choices().opening(table()), table(), "region", roles.SENSITIVE)
    with pytest.raises(InputError, match="declare its categories"):
        chosen(make_settings(outcome="region", model="lognormal"), ["weighted"], half.whole)


def test_weights_that_are_no_weights_are_said_before_a_run(monkeypatch):
    app = opened(
        changes=[("income", "role", "weight")], monkeypatch=monkeypatch
    )  # the only sensitive one: refused
    assert "the only sensitive variable" in app.error[0].value.replace("\\", "")
    changes = [("age", "role", "sensitive"), ("income", "role", "weight")]
    app = opened(changes=changes, monkeypatch=monkeypatch)  # it has zeros
    said = next(each.value for each in app.markdown if "survey weights in column" in each.value)
    assert "0 or below" in said and said.startswith(":material/edit: **income**")
    assert any(each.label == "Open income" for each in app.button)


def test_a_total_below_the_rows_is_said_at_the_weight_before_a_run():
    """It was first said by Compare."""
    from synth_core.analysis.settings import make_settings
    from synth_core.ui.data.readiness import of_public_columns

    settings = make_settings(outcome="income", model="lognormal", weight="wt", weight_total=89.0)
    ((name, said),) = of_public_columns(table(), settings).items()
    assert name == "wt" and "(--weight-total) is 89, and the table alone has 90 rows" in said


def test_strata_are_named_among_the_details_of_the_weights(monkeypatch):
    app = opened(BOOK, monkeypatch=monkeypatch)
    app.session_state[columns.OPEN] = "wt"
    app.run()
    strata = next(each for each in app.selectbox if each.label == "Strata of the sample")
    assert set(strata.options) == {"not named", "region", "age", "school", "sex"}  # no sensitive one
    strata.set_value("region").run()
    assert app.session_state["now"].choices.settings.strata == "region" and not app.exception
    chosen = roles.with_role(app.session_state["now"].choices, table(), "region", roles.SENSITIVE)
    assert chosen.settings.strata is None
    chosen = roles.with_role(app.session_state["now"].choices, table(), "wt", roles.UNUSED)
    assert chosen.checked(confidential=False).strata is None


def test_a_record_without_a_stratum_is_said_at_the_weight_before_a_run():
    from synth_core.analysis.settings import make_settings
    from synth_core.ui.data.readiness import of_public_columns

    frame = table().frame
    lacking = Table("t.csv", frame.assign(region=frame["region"].where(frame.index != 6)))
    settings = make_settings(outcome="income", model="lognormal", weight="wt", strata="region")
    ((name, said),) = of_public_columns(lacking, settings).items()
    assert name == "wt" and "1 record has no stratum in column 'region' (first in row 7)" in said


def test_a_rule_that_the_table_breaks_is_said_at_its_variable_by_row_and_no_value(monkeypatch):
    """It was said at the first sensitive variable."""
    school = Entry(column="degree", kind="ordered", role="sensitive", categories=("low", "mid", "high"))
    ruled = school.model_copy(update={"rules": ("region = N -> degree = low",)})
    book = BOOK.updated([ruled, Entry(column="hh", kind="number")])
    app = opened(book, changes=[("region", "role", "public, predictor")], monkeypatch=monkeypatch)
    said = next(each.value for each in app.markdown if "breaks the rule" in each.value).replace("\\", "")
    assert "**degree**" in said and "(row " in said and "region = N → degree = low" in said


def reading_page():
    import streamlit as st

    from synth_core.ui.state import session
    from tests.ui.test_columns import BOOK, marked_table

    session.use_file(marked_table())
    session.use_missing(["pay=N"])
    before = session.current().table
    session.use_file(marked_table(BOOK))
    after = session.current().table
    st.write(
        f"{before.missing} {after.missing} {after.column('pay').missing} {after.codebook.get('region').role}"
    )


def marked_table(book=Codebook()):
    data = frame().assign(pay=["N" if i % 9 == 0 else str(100 + i) for i in range(N)])
    return read_table(data.to_csv(index=False).encode(), "marked.csv", ReadOptions(codebook=book))


def test_what_meant_missing_still_does_when_the_file_is_read_by_another_codebook():
    app = AppTest.from_function(reading_page, default_timeout=30).run()
    assert not app.exception
    assert app.markdown[-1].value == "('pay=N',) ('pay=N',) 10 public"


def test_what_was_seen_is_said_of_each_variable_that_it_is_true_of():
    from types import SimpleNamespace

    from synth_core.ui.data.next_step import _proposed

    below, zero = "some of its values are below zero", "some of its values are zero"
    said = _proposed(SimpleNamespace(seen={"pay": below, "food": zero, "rent": below}))
    assert f"Nothing is declared of pay, and {below}" in said
    assert said.endswith(f"The same is true of rent. Of food nothing is declared either, and {zero}.")


def order_page():
    import streamlit as st

    from synth_core.ui.data import columns
    from synth_core.ui.data.codebook import declare
    from synth_core.ui.state import session
    from tests.ui.test_columns import marked_table

    def noted():
        order = columns._order(session.current())
        orders.append((order.names[:2], order.sorted_at))

    orders = st.session_state["orders"] = []
    session.use_file(marked_table())
    noted()
    session.use_missing(["pay=N"])  # nothing was chosen: pay is proposed now
    noted()
    columns._take("degree", "role", "sensitive")
    noted()
    declare("degree", {"kind": "ordered"})
    noted()
    session.use_missing(["pay=N", "region=S"])
    noted()
    session.use_example("beta", 50, 1)
    noted()


def test_rows_stay_where_they_are_when_their_file_is_read_in_another_way():
    """The row that was just described jumped to the top, and the table to its beginning."""
    app = AppTest.from_function(order_page, default_timeout=30).run()
    assert not app.exception
    *read, example = app.session_state["orders"]

    assert read[2] == read[3] == read[4] and read[2][0] == read[1][0]
    assert example[1] != read[4][1]


def tried_page():
    from dataclasses import replace

    import streamlit as st

    from synth_core.analysis.fit_verdict import fit_verdict
    from synth_core.ui.data import next_step
    from synth_core.ui.data.readiness import readiness
    from synth_core.ui.state import session
    from tests.ui.conftest import start_and_change
    from tests.ui.test_columns import fit_of_income, table

    start_and_change(table)
    verdict = fit_verdict(0.3, 9000)
    next_step.show(readiness(), [fit_of_income(verdict, session.settings())])
    st.session_state["misfit"] = session.settings()
    session.change(session.choices().with_settings(model="mixture"))
    offers = next_step.offers("income", True)
    st.session_state["offered"] = [
        (each.choices.settings.model, each.choices.settings.transformation, next_step._tried("income", each))
        for each in offers
    ]
    unlike = [replace(each, choices=each.choices.with_settings(offset=7.0)) for each in offers]
    st.session_state["unlike"] = any(next_step._tried("income", each) for each in unlike)


def test_a_model_that_did_not_fit_is_not_offered_again():
    """Once brackets were chosen, the first offer was the model that had just been said not to fit."""
    app = AppTest.from_function(tried_page, default_timeout=60)
    app.session_state["book"], app.session_state["changes"] = (BOOK,), [("hh", "role", "not used")]
    app.run()
    assert not app.exception
    misfit, offered = app.session_state["misfit"], app.session_state["offered"]
    assert (misfit.model, misfit.transformation, True) in offered
    assert any(not tried for *_, tried in offered)
    assert not app.session_state["unlike"]  # with another option it is another model
