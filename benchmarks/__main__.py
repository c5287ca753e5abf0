"""`python -m benchmarks [NAME ...]`: one table of paths: time, ratio to naive, to the floor, memory."""

from __future__ import annotations

import os

# As in the worker processes, and before NumPy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402
from collections.abc import Sequence  # noqa: E402

from benchmarks import baseline, models, paths, slow_models  # noqa: E402
from benchmarks.app_million import app_million  # noqa: E402
from benchmarks.browser import anchored_slider, browser  # noqa: E402
from benchmarks.measure import TINY, Line, calibration  # noqa: E402
from benchmarks.measured import measured, measured_slider  # noqa: E402
from benchmarks.million import anchored_million, million, ten_million  # noqa: E402
from benchmarks.plain import plain  # noqa: E402
from benchmarks.records import whole_records  # noqa: E402
from benchmarks.strict import strict  # noqa: E402
from benchmarks.studies import study  # noqa: E402

BENCHMARKS = {
    each.__name__: each
    for each in (
        paths.refit,
        paths.censored,
        strict,
        paths.naive_bounds,
        paths.extremes,
        paths.lognormal_refit,
        models.counts,
        models.categorical,
        models.wide_categories,
        whole_records,
        measured,
        models.mixture,
        models.mixture_gradient,
        models.survey,
        plain,
        slow_models.mixture_refit,
        slow_models.own_program,
        study,
        paths.count,
        paths.twelve,
        paths.scale,
        million,
        anchored_million,
        ten_million,
        browser,
        anchored_slider,
        measured_slider,
        app_million,
    )
}


def cells(line: Line, change: str) -> str:
    """One row of the table, as Markdown."""
    seconds = "" if line.seconds is None else f"{line.seconds:.3g} s"
    ratio = "" if line.ratio is None else f"{line.ratio:.3g}"
    floor = "" if line.to_floor is None else f"{line.to_floor:.2f}"
    memory = "" if line.memory is None else f"{line.memory:.2f} GiB"
    note = "; ".join(filter(None, (f"**{change}**" if change else "", line.note)))
    used = "" if line.processor is None else f"{line.processor:.3g} s"
    return f"| {line.path} | {seconds} | {used} | {ratio} | {floor} | {memory} | {note} |"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument(
        "--tiny", action="store_true", help="run each path once at the smallest size, measure nothing"
    )
    parser.add_argument("--write-baseline", action="store_true", help="compare later runs with this one")
    args = parser.parse_args(argv)
    if args.tiny:
        if args.write_baseline:
            parser.error("the tiny size measures nothing: no baseline")
        os.environ[TINY] = "1"
    known = baseline.read()
    print(f"Here: {baseline.machine()}\nBaseline: {known['machine'] or 'none'}\n")
    print(
        "| path | median | processor | times naive | times the floor | memory | |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    started, lines, units, failed = time.perf_counter(), [], [], []
    for name in args.names or BENCHMARKS:
        units.append(calibration())
        try:
            for line in BENCHMARKS[name]():
                lines.append(line)
                print(cells(line, baseline.compared_with(line, units[-1], known)), flush=True)
        except AssertionError as error:  # the others are measured all the same
            failed.append(name)
            print(f"| {name}: **not as claimed** | | | | | | {error} |", flush=True)
        if args.write_baseline:
            baseline.write(lines, statistics.median(units))
    print(f"\n{len(lines)} paths in {time.perf_counter() - started:.0f} s; a change by more than "
          f"{baseline.FACTOR} from the baseline is marked.")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
