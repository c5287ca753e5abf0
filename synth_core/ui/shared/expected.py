"""How long work will take: by what Compare measured under the same settings, where it did."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from synth_core.analysis.settings import Settings
from synth_core.experiments.explore.sweep import duration
from synth_core.jobs.stored_summaries import stored_summary
from synth_core.models import family
from synth_core.system.cache import results_cache
from synth_core.ui.shared.subject import Subject
from synth_core.ui.state import session


def expected_words(subject: Subject, settings: Settings, mechanisms: Collection[str], seconds: float) -> str:
    """How long runs of these mechanisms take, in words; no number where neither Compare nor the models tell one."""
    browser, cache = session.current(), results_cache()
    tasks = (subject.task(browser, settings, key) for key in mechanisms)
    if any(stored_summary(cache, task.key) is not None for task in tasks):
        return f"about {duration(seconds)}"
    models = [block.model for block in subject.blocks] or [settings.model]
    return f"about {duration(seconds)}" if all(family(m).estimated for m in models) else "an unknown time"


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
