"""Sensitive ranges: which interval around each value is to be protected, and what it gives."""

import numpy as np
import pandas as pd
import streamlit as st

from synth_core.errors import InputError
from synth_core.figures.privacy import bounds_figure
from synth_core.figures.ranges import interval_figure, outside_figure
from synth_core.figures.utility import quantiles_figure
from synth_core.points import find_mechanism
from synth_core.ranges import check_brackets, intervals, read_brackets
from synth_core.ui import live, session
from synth_core.ui.widgets import slider_with_number

MECHANISMS = ["weighted", "range_averaged", "range_truncated"]
RELATIVE, BRACKETS = "Relative to the value", "Absolute brackets"


def relative(choices: dict) -> None:
    """a and b, and other ones in the tail."""
    slider_with_number("From a × value", "range", (0.0, 1.0), 0.05, "Lower end of the range.", 0)
    slider_with_number("To b × value", "range", (1.0, 5.0), 0.05, "Upper end of the range.", 1)
    wider = st.toggle("Another range in the upper tail", value=choices["tail"] is not None)
    if not wider:
        choices["tail"] = None
        return
    choices["tail"] = choices["tail"] or [5.0, 0.2, 2.4]
    slider_with_number("Top percent", "tail", (0.5, 50.0), 0.5, "Records of the largest values.", 0)
    slider_with_number("From a′ × value", "tail", (0.0, 1.0), 0.05, "Lower end in the tail.", 1)
    slider_with_number("To b′ × value", "tail", (1.0, 5.0), 0.05, "Upper end in the tail.", 2)


def brackets(choices: dict) -> None:
    """A small editor, or a file."""
    upload = st.file_uploader("Brackets from a file", type=["csv"], help="Two columns: lower, upper.")
    start = choices["brackets"] or [[0.0, 25.0], [25.0, 50.0], [50.0, 100.0], [100.0, 1000.0]]
    frame = st.data_editor(pd.DataFrame(start, columns=["lower", "upper"], dtype=float), num_rows="dynamic",
                           hide_index=True, key="brackets_editor")  # fmt: skip
    try:
        if upload is not None:
            found = read_brackets(upload.getvalue().decode("utf-8", errors="replace"))
        else:
            found = tuple(sorted((float(a), float(b)) for a, b in frame.dropna().to_numpy()))
            check_brackets(found)
    except InputError as error:
        st.error(session.plain(str(error)), icon=":material/error:")
        return
    if st.button("Use these brackets", type="primary"):
        choices["brackets"] = [list(pair) for pair in found]


choices = session.current().choices
with st.sidebar:
    kind = st.segmented_control("Sensitive range", [RELATIVE, BRACKETS], required=True,
                                default=BRACKETS if choices["brackets"] else RELATIVE)  # fmt: skip
    if kind == BRACKETS:
        brackets(choices)
    else:
        choices["brackets"] = None
        relative(choices)
    printed = st.toggle("Range-truncated as printed in Eq. 15", value=choices["printed_truncation"],
                        help="The paper prints the log mass of the range without the weight; its figures "
                             "agree with the weight on the whole term, which is used here.")  # fmt: skip
    choices["printed_truncation"] = printed
    matched = choices["match_epsilon"]
    also = f" So is matching the ε of {find_mechanism(matched).label}." if matched else ""
    st.caption("Scale, shift and sampling are taken from the page Compare." + also)


def figures(summaries, labels, settings):
    """lambda by value, the range of one record, bounds and quantiles."""
    shown = [bounds_figure(summaries, labels), quantiles_figure(summaries, labels)]
    if settings != session.settings():  # an older picture is of other records, perhaps
        return shown
    result = session.stored_result("range_averaged")
    if result is None or not result.outside.size:
        return shown
    values = session.outcome()
    record = min(
        st.session_state.get("range_record") or int(np.argsort(values)[len(values) // 2]) + 1, len(values)
    )
    ranges = intervals(values, settings.range, settings.tail, settings.brackets)
    return [
        outside_figure(values, result.outside, settings.outcome),
        interval_figure(values, ranges, record, result.outside, settings.outcome),
        *shown,
    ]


shown = live.show("ranges", MECHANISMS, figures, detail=str(st.session_state.get("range_record")))
if shown.summaries:
    if shown.clicked is not None:  # a click lasts for one run, so this does not repeat
        st.session_state["range_record"] = shown.clicked
        st.rerun()
    st.number_input(
        "Record whose range is shown",
        1,
        shown.summaries[0]["n_records"],
        None,
        key="range_record",
        placeholder="a record's number, or click a dot",
        width=320,
    )
