"""Data: choose a table, its sensitive variable and predictors, the model."""

import pandas as pd
import streamlit as st

from synth_core import limits
from synth_core.cache import results_cache
from synth_core.design import select
from synth_core.errors import InputError
from synth_core.examples import EXAMPLES
from synth_core.examples import load_example as load_table
from synth_core.models import MODELS, OwnProgram, build_model, family
from synth_core.models.transformation import TRANSFORMATIONS
from synth_core.readers import DELIMITERS, ENCODINGS, SUFFIXES, ReadOptions
from synth_core.table import read_table
from synth_core.ui import own_programs, session
from synth_core.ui.session import plain
from synth_core.ui.widgets import amount, pick, switch, whole_number

DETECT = "detect"
DECIMALS = {".": "point", ",": "comma"}


def load_example() -> None:
    """Controls of the examples that come with the app."""
    key = st.selectbox("Example", list(EXAMPLES), format_func=lambda k: EXAMPLES[k].title)
    example = EXAMPLES[key]
    st.caption(example.source)
    rows, seed, half = None, 1, None
    if not example.simulate:
        parts = {"All records": None, "First half": 1, "Second half": 2}
        half = parts[st.segmented_control("Records", list(parts), default="All records", required=True,
                                          help="Tune on one half, release the other.")]  # fmt: skip
    else:
        left, right = st.columns(2)
        rows = left.number_input("Records", limits.MIN_ROWS, 1_000_000, example.default_rows, 100)
        seed = right.number_input("Seed of the simulation", *limits.SEED, 1, 1)
    st.button(
        "Use this example",
        type="primary",
        on_click=session.attempt,
        args=("example", session.use_example, key, rows, int(seed), half),
    )
    session.show_message("example")


def load_file() -> None:
    """Controls of an upload; the bytes stay in memory."""
    upload = st.file_uploader(
        "Table",
        type=[s.lstrip(".") for s in SUFFIXES],
        help=f"At most {limits.MAX_UPLOAD_MB} MB. Kept in memory, never written to disk.",
    )
    with st.expander("How to read a text file"):
        a, b, c = st.columns(3)
        delimiter = a.selectbox(
            "Delimiter", [DETECT, *DELIMITERS], format_func=lambda d: DELIMITERS.get(d, d)
        )
        encoding = b.selectbox("Encoding", [DETECT, *ENCODINGS])
        decimal = c.selectbox("Decimal sign", [DETECT, *DECIMALS], format_func=lambda d: DECIMALS.get(d, d))
    confidential = st.checkbox("The table is confidential", value=True)
    if upload is not None:
        options = ReadOptions(*(None if v == DETECT else v for v in (delimiter, encoding, decimal)))
        st.button(
            "Use this file",
            type="primary",
            on_click=session.attempt,
            args=("file", take_file, upload, options, confidential),
        )
    session.show_message("file")


def take_file(upload, options: ReadOptions, confidential: bool) -> None:
    """Read an upload and make it the browser's table."""
    table = read_table(upload.getvalue(), upload.name, options, confidential)
    table.columns  # noqa: B018  described here, where a failure can be shown
    session.use_file(table)


def choose_columns() -> None:
    """Sensitive variable, predictors, model and its options."""
    choices = browser.choices
    columns = browser.table.columns
    pick(
        "selectbox",
        "Sensitive variable",
        "outcome",
        [c.name for c in columns],
        help="The number to be synthesized. Everything else is kept as it is.",
    )
    pick(
        "multiselect",
        "Predictors, not sensitive",
        "predictors",
        [c.name for c in columns if c.name != choices["outcome"]],
        help="Kept as they are in the synthetic data.",
    )
    codes = [c.name for c in columns if c.kind == "code" and c.name in choices["predictors"]]
    if codes:
        pick(
            "multiselect",
            "Of these, number codes that are categories",
            "categorical",
            codes,
            help="A code such as 1 = single, 2 = married is not a quantity.",
        )
    else:
        choices["categorical"] = []
    own = [OwnProgram.name] if choices["program"] and own_programs.refusal() is None else []
    pick("selectbox", "Model", "model", [*MODELS, *own], format_func=lambda m: family(m).label)
    declare_bounds(choices)
    model_options(family(choices["model"]).uses)


def model_options(uses: frozenset[str]) -> None:
    """What the chosen model lets the analyst choose."""
    if "zero_part" in uses:
        switch("Zeros have a probability of their own", "zero_part",
               "A logistic regression for zero or not; the mixture then models the other values.")  # fmt: skip
    if "transformation" in uses:
        pick("selectbox", "Modelled on the scale", "transformation", list(TRANSFORMATIONS),
             format_func=TRANSFORMATIONS.get)  # fmt: skip
    a, b = st.columns(2)
    with a:
        if "offset" in uses and browser.choices["transformation"] == "log":
            amount("Offset", "offset",
                   "Added before the logarithm, log(x + offset), for values above −offset. Choose it from "
                   "knowledge of the variable.")  # fmt: skip
        if "asinh_scale" in uses and browser.choices["transformation"] == "asinh":
            amount("Scale of the asinh", "asinh_scale",
                   "About linear within this distance of zero, about a signed logarithm beyond. Best a round "
                   "number near a typical value: heaps of small values then do not stand out.", 1e-12)  # fmt: skip
        if "components" in uses:
            whole_number("Components K", "components", limits.COMPONENTS, 1,
                         "More than are needed: at concentration 1 superfluous ones empty themselves.")  # fmt: skip
    with b:
        amount(
            "Unit of the density",
            "unit",
            "In the table's unit. A log density depends on the unit of the value, and Δ and ε with it. It is a "
            "policy choice, recorded with a release. Beta models take it on the value scaled to (0, 1), count "
            "models have none.",
            1e-12,
            disabled="unit" not in uses,
        )
        if "concentration" in uses:
            amount(
                "Concentration a",
                "concentration",
                "Prior mean of a; the components' shares are Dirichlet(a / K). Near 1 superfluous components "
                "empty themselves; at several times K all stay occupied, which can help a mixture that does not "
                "converge because it passes between two numbers of components.",
                *limits.CONCENTRATION,
            )


def declare_bounds(choices: dict) -> None:
    """Bounds that the beta model and the histogram need."""
    for column, name in zip(st.columns(2), ("lower", "upper"), strict=True):
        key = f"choice_bound_{name}"
        if key not in st.session_state:
            st.session_state[key] = choices[f"bound_{name}"]
        column.number_input(f"Declared {name} bound", value=None, format="%g", placeholder="none", key=key,
                            on_change=session.choose_bound, args=(name, key))  # fmt: skip
    st.caption(
        "The beta model and the histogram need bounds. Declare them from knowledge of the variable, never by "
        "looking at the data: bounds taken from the data void the guarantee."
    )


def choose_reference() -> None:
    """The table that the risk map is frozen on: what the strict claim of weights needs."""
    st.caption(
        "Weights made from the current table depend on all of its records. A risk map frozen on a historical "
        "or public table makes each weight depend on its own record alone."
    )
    if browser.reference is not None:
        name = plain(browser.reference.name)
        st.success(f"Frozen on {name}, {browser.reference.rows:,} rows.", icon=":material/lock:")
        st.button("Use the current table again", on_click=session.use_reference, args=(None,))
        return
    example = EXAMPLES.get(browser.table.name.removeprefix("example:"))
    if example is not None and example.simulate:
        seed = int(st.number_input("Simulate another table, with seed", *limits.SEED, 1001, 1))
        st.button(
            "Freeze on the simulated table",
            on_click=lambda: session.use_reference(load_table(example.key, browser.table.rows, seed)),
        )
    endings = [s.lstrip(".") for s in SUFFIXES]
    upload = st.file_uploader("A historical or public table", endings, key="reference")
    if upload is not None:
        st.button("Freeze on this file", on_click=session.attempt, args=("reference", freeze_on, upload))
    session.show_message("reference")


def freeze_on(upload) -> None:
    """Read an upload and freeze the risk map on it."""
    session.use_reference(read_table(upload.getvalue(), upload.name))


def check() -> None:
    """Say whether the choice can be fitted, in words."""
    try:
        settings = session.settings()
        selection = select(browser.table, settings.outcome, settings.predictors, settings.categorical)
        model = build_model(settings.model, selection.records, **settings.model_options)
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    lost = {k: v for k, v in selection.dropped_by.items() if v}
    note = (
        ("; missing values: " + ", ".join(f"{plain(k)} in {v:,} rows" for k, v in lost.items()))
        if lost
        else ""
    )
    st.success(
        f"Ready: {selection.records.n:,} complete rows of {browser.table.rows:,}{note}. "
        f"{model.label}, {model.density_scale}.",
        icon=":material/check_circle:",
    )
    st.page_link("pages/compare.py", label="Compare the synthesizers", icon=":material/compare_arrows:")


def what_is_kept() -> None:
    """What the server's disk holds of the tables, and the button that deletes it."""
    st.caption(
        "Tables stay in memory. Fits and results are cached on the server's disk, readable by its own user only: "
        f"they hold weights, bounds and draws. What nobody used for {results_cache().max_days:g} days is deleted."
    )
    st.button("Delete cached results", icon=":material/delete_sweep:", on_click=purge_results,
              help="Of everyone on this server. It costs only the time to compute them again; plans, named "
                   "runs and the ledger stay.")  # fmt: skip
    if deleted := st.session_state.pop("purged", None):
        st.success(deleted, icon=":material/check_circle:")
    if own_programs.asks_for_login():
        st.button("Sign out", icon=":material/logout:", on_click=st.logout)


def purge_results() -> None:
    """Button callback: empty the cache of results."""
    cache = results_cache()
    size = cache.size()
    cache.purge()
    st.session_state["purged"] = f"Deleted {size / 1024**2:.1f} MiB of cached results."


browser = session.current()
left, right = st.columns([2, 3], gap="large")
with left:
    st.subheader("1 · Table")
    with st.container(border=True):
        tab_example, tab_file = st.tabs(["Example", "Your file"])
        with tab_example:
            load_example()
        with tab_file:
            load_file()
    st.subheader("3 · Risk map")
    with st.container(border=True):
        choose_reference()
    st.subheader("4 · What is kept")
    with st.container(border=True):
        what_is_kept()
with right:
    kind = "confidential" if browser.table.confidential else "public or simulated"
    st.subheader(f"2 · Variables of {plain(browser.table.name)}")
    used = browser.table.read_options
    read = (
        f" · read as {DELIMITERS[used.delimiter]}-separated {used.encoding}, decimal {DECIMALS[used.decimal]}"
        if used.delimiter
        else ""
    )
    st.caption(f"{browser.table.rows:,} rows, {len(browser.table.columns)} columns, {kind}{read}")
    a, b = st.columns([3, 4], gap="medium")
    with a:
        choose_columns()
    with b:
        st.dataframe(
            pd.DataFrame(
                [
                    {
                        "Column": c.name,
                        "Kind": c.kind,
                        "Missing": c.missing,
                        "Distinct": c.distinct,
                        "Note": c.note,
                    }
                    for c in browser.table.columns
                ]
            ),
            hide_index=True,
            height=330,
        )
    check()
