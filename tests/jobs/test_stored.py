"""What is shown of a stored result is kept beside it, and goes with it."""

from synth_core.jobs.stored_summaries import keep_summary, stored_summary
from tests.summary_numbers import numbers
from tests.support.summaries import of_numbers

KEY = "ab" * 32
MADE = of_numbers(numbers())


def test_a_summary_is_found_as_long_as_its_result_is(cache):
    keep_summary(cache, KEY, MADE)
    assert stored_summary(cache, KEY) is None
    cache.put(KEY, {"seconds": 1.0})
    assert stored_summary(cache, KEY) == MADE.from_cache()
    assert stored_summary(cache, "cd" * 32) is None
    cache.purge()
    assert stored_summary(cache, KEY) is None
