"""How long work will take: by what Compare measured under the same settings, where it did."""

from __future__ import annotations

from collections.abc import Iterable

from synth_core.analysis.settings import Settings
from synth_core.jobs.stored_summaries import stored_summary
from synth_core.system.cache import results_cache
from synth_core.ui.shared.subject import Subject
from synth_core.ui.state import session


def seconds_each(subject: Subject, settings: Settings, mechanisms: Iterable[str]) -> dict[str, float]:
    """Seconds of one run of each mechanism: as measured, else as expected times what the measured ones took longer."""
    browser, cache = session.current(), results_cache()
    tasks = {key: subject.task(browser, settings, key) for key in mechanisms}
    took = {
        key: known.numbers.seconds
        for key, task in tasks.items()
        if (known := stored_summary(cache, task.key)) is not None
    }
    expected = {key: task.expected_seconds for key, task in tasks.items()}
    slower = sum(took.values()) / sum(expected[key] for key in took) if took else 1.0
    return {key: took.get(key, slower * seconds) for key, seconds in expected.items()}
