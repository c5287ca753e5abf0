"""One record under every mechanism, of several sensitive variables."""

from synth_core.analysis.by_record import by_record
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.mechanisms.noise import SeededNoise
from synth_core.system.cache import results_cache
from synth_core.system.entries import to_entry
from synth_core.ui.compare.inspector import _several_rows
from tests.experiments.test_records_point import COMMON, SEX, people
from tests.summary_numbers import numbers
from tests.support.summaries import of_numbers


def test_of_whole_records_without_a_posterior_nothing_is_said_as_of_one_variable():
    """The page failed with an IndexError at every record while Measured was on screen."""
    pay = Block("pay", "lognormal", {"guess": (12.0, 0.6)})
    cache = results_cache()
    analysis = RecordsAnalysis(people(), (SEX, pay), COMMON, cache, noise=SeededNoise(1))
    cache.put("measured", to_entry(by_record(analysis, analysis.run("measured"))))
    assert _several_rows(2, of_numbers(numbers(mechanism="measured")), "measured") == []
