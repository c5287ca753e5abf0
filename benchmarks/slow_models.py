"""Fits that take a minute: the mixture of a survey's income, and an analyst's own program."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, analysis, claim, fresh_cache, households, sized, tiny, tree_processor
from synth_core.data.table import Table, open_table
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.models.own.sandbox import FLAG, approve
from synth_core.system import limits

ROOT = Path(__file__).parents[1]
CONSUMER_EXPENDITURE = ROOT.parent / "shared" / "data" / "ce_2014q1_rpms010.csv.gz"
OWN = ROOT / "docs" / "guide" / "own" / "student_t.stan"
COLUMNS = ("age", "marr", "male", "fsize", "e401k")


def mixture_refit() -> list[Line]:
    """Consumer Expenditure, 5,633 incomes, 23 columns, K = 5: a weighted refit as the app makes it, once."""
    if not CONSUMER_EXPENDITURE.is_file():
        return [
            Line("mixture refit, Consumer Expenditure, K = 5", None, note="skipped: the file is not here")
        ]
    predictors = ("BLS_URBN", "SMSASTAT", "SEX_REF", "EDUC_REF", "FAM_TYPE", "CUTENURE")
    table = open_table(str(CONSUMER_EXPENDITURE))
    if tiny():
        table = Table(table.name, table.frame.head(150))
    compared = analysis(
        table, fresh_cache(), draws=sized(1000, 100), warmup=sized(1000, 100), outcome="FINCBTAX",
        predictors=predictors, categorical=predictors, model="mixture", zero_part=True,
        transformation="asinh", asinh_scale=30_000.0, unit=10_000.0, concentration=100.0,
        scale=0.6, shift=-0.1, chains=2,
    )  # fmt: skip
    lines, found = [], {}
    for name in ("unweighted", "weighted"):
        started, before = time.perf_counter(), tree_processor()
        found[name] = compared.run(name)
        seconds, processor = time.perf_counter() - started, tree_processor() - before
        d = found[name].diagnostics
        assert d is not None
        claim(not d.problems, name, d)
        note = (
            f"R-hat {d.rhat:.3f}, smallest effective size {min(d.ess_bulk, d.ess_tail):,.0f} of {d.draws:,}"
        )
        path = f"mixture, Consumer Expenditure, K = 5, {name}: pilot, two chains, bounds, utility"
        lines.append(Line(path, seconds, processor=processor, note=note))
    claim(found["weighted"].lipschitz_bound < found["unweighted"].lipschitz_bound / 3)
    return lines


def own_program() -> Iterator[Line]:
    """A weighted refit of the worked student t program with bounds, one chain: 401ksubs, and the most records allowed.

    The most records are 401ksubs again and again, with a tenth of the draws.
    """
    os.environ[FLAG] = "1"
    approve(OWN.read_text())
    first = households(100)
    again = np.resize(np.arange(first.rows), sized(limits.MAX_OWN_ROWS, 200))
    many = Table("401ksubs, repeated", first.frame.iloc[again].reset_index(drop=True))
    fits = []
    for table, draws in ((first, sized(1000, 100)), (many, 100)):
        compared = analysis(table, fresh_cache(), outcome="inc", predictors=COLUMNS, model="own",
                            program=OWN.read_text(), draws=draws, warmup=draws)  # fmt: skip
        weights = compared.weighted(find_mechanism("weighted")).weights
        started, before = time.perf_counter(), tree_processor()
        posterior, key = compared.fits.posterior(weights)
        refit = tree_processor() - before
        bounds = compared.fits.bounds(posterior, key, weights)
        claim(bounds.lipschitz_bound < compared.fits.unweighted_bounds().lipschitz_bound)
        fits.append(posterior)
        path = f"own program, student t, n = {table.rows:,}, refit of {draws} draws and bounds"
        seconds, processor = time.perf_counter() - started, tree_processor() - before
        yield Line(path, seconds, processor=processor, note=f"the refit {refit:.1f} s of processor time")
    few, repeated = fits
    for name in ("beta", "log_sigma", "nu"):  # the same records: as far apart as the fewer ones say
        apart = np.abs(few.draws[name].mean(axis=0) - repeated.draws[name].mean(axis=0))
        claim((apart < 4 * few.draws[name].std(axis=0)).all(), name, apart)
