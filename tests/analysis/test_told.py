"""Which public columns tell a sensitive variable, in words, and which of them are refused."""

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.presence import PRESENCE, missing_name
from synth_core.analysis.selection import refuse_copies, selected, telling_words
from synth_core.analysis.settings import make_settings
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.table import Table
from synth_core.errors import InputError

RNG = np.random.default_rng(1)
PAY = RNG.lognormal(8, 0.5, 200).round(2)
LEVEL = RNG.integers(1, 7, 200).astype(float)
LEVELS = tuple(map(str, range(1, 7)))


def told(table, outcome, predictors=(), **given):
    settings = make_settings(outcome=outcome, predictors=predictors, **given)
    return telling_words(table, selected(table, settings), settings)


def test_a_copy_is_refused_and_what_else_tells_is_said():
    """Either would be released as it is, beside synthetic values of what it tells."""
    near = PAY * np.linspace(0.9, 1.1, 200)
    frame = pd.DataFrame({"pay": PAY, "year": 12 * PAY, "log": np.log(PAY), "near": near, "level": LEVEL})
    frame["band"] = np.where(PAY > 3000, "high", "low")
    frame["school"] = np.where(LEVEL > 3, "long", "short")
    table = Table("t", frame.assign(again=LEVEL))
    with pytest.raises(InputError, match="'year' tells 'pay' exactly"):
        told(table, "pay", ("year",), model="lognormal")
    assert told(table, "pay", ("near", "log", "band"), model="lognormal") == [
        "predictor 'log' tells 'pay' exactly or nearly, as a copy on another scale, a rounded or a finer one does, "
        "and a predictor is released as it is",
        "predictor 'band' tells within which range each value of 'pay' lies, and a predictor is released as it is",
    ]
    school, again = told(table, "level", ("near", "school", "again"), model="categorical", categories=LEVELS)
    assert school.startswith("predictor 'school' tells among which categories each value of 'level' lies")
    assert again.startswith("predictor 'again' tells 'level' exactly")


def test_a_public_column_may_tell_whether_a_value_is_missing():
    frame = pd.DataFrame({"age": np.arange(200) % 90})
    frame[missing_name("pay")] = np.where(frame["age"] < 15, PRESENCE[1], PRESENCE[0])
    assert (
        told(Table("t", frame), missing_name("pay"), ("age",), model="categorical", categories=PRESENCE) == []
    )


def test_a_kept_copy_is_found_in_the_rows_of_the_file():
    """The fit may read some rows only, and values that were moved within bounds; the file keeps what was read."""
    book = Codebook(columns=(Entry(column="year", role="public"),))
    frame = pd.DataFrame({"pay": PAY, "year": 12 * PAY})
    table = Table("t", frame, codebook=book)
    moved = Table("t", frame.assign(pay=np.minimum(PAY, 6000.0)).iloc[20:], row_numbers=np.arange(21, 201))
    assert (PAY > 6000).sum() > 5
    settings = make_settings(outcome="pay", model="lognormal")
    selection = selected(moved, settings)
    assert telling_words(table, selection, settings)[0].startswith("column 'year' tells 'pay' exactly")
    with pytest.raises(InputError, match="'year' tells 'pay' exactly"):
        refuse_copies(table, selection, settings, ("year",))
    # what a plan keeps is what counts, and not what the codebook of another file says
    with pytest.raises(InputError, match="'year' tells 'pay' exactly"):
        refuse_copies(Table("t", frame), selection, settings, ("year",))
    refuse_copies(table, selection, settings, ())
    frame = pd.DataFrame({"level": LEVEL, "year": LEVEL + 2000})
    settings = make_settings(outcome="level", model="categorical", categories=LEVELS)
    part = selected(Table("t", frame.iloc[20:], row_numbers=np.arange(21, 201)), settings)
    [words] = telling_words(Table("t", frame, codebook=book), part, settings)
    assert words.startswith("column 'year' tells 'level' exactly")
