"""What was not declared is told before anything is computed, of one variable and of each of several."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.feasible import refusal
from synth_core.analysis.records.fitted_parts import FittedParts
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.explore.measures import Target
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import MechanismTask, TuneTask
from synth_core.mechanisms.catalogue import find_mechanism

SEX = Block("sex", "categorical", {"categories": ("f", "m")})
PAY = Block("pay", "lognormal")


def table():
    rng = np.random.default_rng(1)
    return Table("t", pd.DataFrame({"sex": rng.choice(["f", "m"], 60), "pay": rng.lognormal(3, 1, 60)}))


def never(*args, **more):
    raise AssertionError("a fit was started")


@pytest.mark.parametrize(
    "changes, words",
    [
        ({}, "A pilot starts from a guess"),
        ({"guess": (20.0, 1.0)}, ""),
        ({"anchor": "reference"}, "there is none"),
        ({"anchor": "counts"}, "edges"),
        ({"anchor": "counts", "bracket_edges": (0.0, 10.0, 100.0)}, ""),
    ],
)
def test_of_one_variable(changes, words):
    settings = make_settings(outcome="pay", model="lognormal", **changes)
    why = refusal(find_mechanism("anchored"), settings)
    assert (words in why) if words else not why
    assert not refusal(find_mechanism("censored"), settings)  # needs no anchor


def test_the_variable_that_lacks_its_guess_is_named():
    settings = make_settings(outcome="sex", model="categorical", categories=("f", "m"))
    assert refusal(find_mechanism("anchored"), settings, (SEX, PAY)).startswith(
        "pay: A pilot starts from a guess"
    )
    guessed = Block("pay", "lognormal", {"guess": (20.0, 1.0)})
    assert not refusal(find_mechanism("anchored"), settings, (SEX, guessed))
    assert "about one sensitive variable" in refusal(find_mechanism("histogram"), settings, (SEX, PAY))


def test_whole_records_are_refused_before_their_first_fit(cache, monkeypatch):
    """The second of two variables has no guess: the first was fitted all the same, for minutes."""
    analysis = RecordsAnalysis(table(), (SEX, PAY), {"epsilon": 1.0}, cache)
    monkeypatch.setattr(FittedParts, "run", never)
    with pytest.raises(InputError, match="pay: A pilot starts from a guess"):
        analysis.run("anchored")


def test_a_task_knows_it_without_a_worker():
    given = TaskInput.of(table(), make_settings(outcome="pay", model="lognormal"), blocks=(SEX, PAY))
    assert "pay: A pilot" in MechanismTask(given, "anchored").refusal
    assert "pay: A pilot" in TuneTask(given, "anchored", target=Target("ecdf_max", 0.05)).refusal
    assert not MechanismTask(given, "weighted").refusal


def test_a_guess_that_is_none_is_told_before_the_first_fit(cache, monkeypatch):
    """A spread in dollars where one of the logarithm is meant: the variables before it were fitted first."""
    wide = Block("pay", "lognormal", {"guess": (20.0, 30_000.0)})
    analysis = RecordsAnalysis(table(), (SEX, wide), {"epsilon": 1.0}, cache)
    monkeypatch.setattr(FittedParts, "run", never)
    with pytest.raises(InputError, match="'pay': A spread of 30,000 is too wide"):
        analysis.run("anchored")


def test_what_is_of_all_of_a_record_is_not_said_of_a_part():
    """Of whole records with households it began with 'income is missing', as if the column were."""
    missing = replace(PAY, missing=())
    settings = make_settings(outcome="sex", model="categorical", categories=("f", "m"), unit_column="hh")
    why = refusal(find_mechanism("range_averaged"), settings, (missing, SEX))
    assert why.startswith("Range-averaged:")
