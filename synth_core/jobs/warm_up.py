"""What a worker process imports and finds before its first task, so that no task pays for it."""

from __future__ import annotations

from synth_core.errors import FitError, InputError


def warm_up() -> str | None:
    """Import what the first fit needs, and find the toolchain.

    Returns
    -------
    str or None
        What this process lacks, in words. Without a toolchain it still answers from the cache.
    """
    try:
        import arviz_stats.base  # noqa: F401
        import cmdstanpy  # noqa: F401
        import formulaic  # noqa: F401

        import synth_core.analysis.analysis
        import synth_core.experiments.explore.tuning
        import synth_core.jobs.tasks  # noqa: F401
        from synth_core.engine.toolchain import ensure_cmdstan

        ensure_cmdstan()
    except (FitError, InputError) as error:
        return str(error)
    except ModuleNotFoundError as error:
        return f"the Python package '{error.name}' is not installed there."
    return None
