"""`compare`: run mechanisms on a table, side by side."""

from __future__ import annotations

import argparse
import contextlib
import json
from pathlib import Path
from typing import Any

from synth_core.cli.data import chosen_columns, load_data
from synth_core.cli.program import own_program
from synth_core.comparison import Comparison
from synth_core.errors import InputError
from synth_core.examples import EXAMPLES
from synth_core.models import MODELS
from synth_core.models.transformation import TRANSFORMATIONS
from synth_core.points import MECHANISMS, find_mechanism
from synth_core.ranges import Brackets, read_brackets
from synth_core.release.frozen import find_map, load_map
from synth_core.release.plan import read_plan
from synth_core.release.state import StateError, plans_directory
from synth_core.release.store import RunStore, run_record
from synth_core.reporting import as_json, print_table
from synth_core.result import Result
from synth_core.riskmap import RiskMap
from synth_core.settings import MODEL_OPTIONS, Settings, make_settings
from synth_core.table import Table
from synth_core.weights import RISK_MAPS


def add(commands: Any) -> None:
    """Add the sub-command."""
    compare = commands.add_parser("compare", help="run mechanisms on a table, side by side")
    add_options(compare, ["unweighted", "weighted"])
    compare.add_argument("--format", choices=("table", "json"), default="table")
    compare.set_defaults(run=run_compare)


def add_options(command: argparse.ArgumentParser, mechanisms: list[str]) -> None:
    """The options of every command that runs mechanisms: data, mechanisms, sampling."""
    add_data(command)
    add_mechanisms(command)
    add_sampling(command)
    command.add_argument(
        "--mechanism",
        nargs="+",
        default=mechanisms,
        metavar="NAME",
        help=f"of {', '.join(MECHANISMS)}, or composed: scheme[+adjustment...][/censored]"
        f"[/averaged|/truncated], for example count/censored",
    )


def add_data(compare: argparse.ArgumentParser) -> None:
    """Arguments that name a table and what is used of it."""
    compare.add_argument("data", help=f"a file, or example:NAME with NAME in {', '.join(EXAMPLES)}")
    add_columns(compare)


def add_columns(compare: argparse.ArgumentParser) -> None:
    """Arguments that say what is used of a table, and by which model."""
    add = compare.add_argument
    add("--outcome", help="the sensitive variable")
    add("--predictors", nargs="*", help="non-sensitive columns, kept as they are")
    add("--categorical", nargs="*", default=[], help="numeric predictors that are categories")
    add("--model", help=f"one of {', '.join(MODELS)}")
    add("--program", metavar="FILE.stan", help="an own Stan program instead; see docs/own-program.md")
    add("--bounds", type=float, nargs=2, metavar=("L", "U"), help="declared bounds of the outcome")
    add("--unit", type=float, default=1.0, help="unit in which the density is taken, in the table's unit")
    add("--transformation", choices=tuple(TRANSFORMATIONS), default="log", help="of two_part and mixture")
    add("--offset", type=float, default=0.0, help="added to the outcome before the logarithm")
    add("--asinh-scale", type=float, default=1.0,
        help="about linear within it, a signed logarithm beyond; best near a typical value")  # fmt: skip
    add("--components", type=int, default=5, help="K of the mixture, more than are needed")
    add("--concentration", type=float, default=1.0,
        help="mixture: prior mean of the concentration of the shares; several times K keeps all occupied")  # fmt: skip
    add("--zero-part", action="store_true", help="mixture: zeros have a probability of their own")
    add("--prior-scale", type=float, default=1.0, help="multiplies the scales of the priors")
    add("--rows", type=int, help="records of a simulated example")
    add("--data-seed", type=int, default=1, help="seed of a simulated example")


def add_mechanisms(compare: argparse.ArgumentParser) -> None:
    """Settings that move mechanisms."""
    add = compare.add_argument
    add("--scale", type=float, default=1.0, help="c of the weights")
    add("--shift", type=float, default=0.0, help="g of the weights")
    add("--epsilon", type=float, default=5.0, help="target of mechanisms that have one")
    add("--risk-map", choices=tuple(RISK_MAPS), default="linear", help="from risk to weight")
    add("--risk-threshold", type=float, default=0.5, help="z* of the threshold map")
    add(
        "--risk-reference",
        default="current",
        metavar="current|FILE|example:NAME|PLAN",
        help="table that the risk map is frozen on, or a release plan (.json)",
    )
    add("--radius", type=float, default=0.2, help="relative radius of count weights and match risk")
    add(
        "--range",
        type=float,
        nargs=2,
        default=[0.4, 1.8],
        metavar=("A", "B"),
        help="sensitive range, relative to the value",
    )
    add(
        "--tail",
        type=float,
        nargs=3,
        metavar=("PERCENT", "A", "B"),
        help="another range for the top PERCENT of values",
    )
    add("--brackets", metavar="FILE", help="absolute sensitive ranges: CSV with lower,upper")
    add("--printed-truncation", action="store_true", help="Range Eq. 15 as printed (the mass unweighted)")
    add(
        "--reweight-tolerance",
        type=float,
        default=0.01,
        help="how closely a solved Lipschitz bound must meet its target",
    )
    add("--match-epsilon", metavar="MECHANISM", help="tune the others to this mechanism's epsilon")
    add("--bins", default="log", help="of the histogram: log, sqrt or a number")


def add_sampling(compare: argparse.ArgumentParser) -> None:
    """Settings of the sampler and of what is computed."""
    add = compare.add_argument
    add("--percentiles", type=float, nargs="+", default=[15, 50, 90])
    add("--datasets", type=int, default=1, help="synthetic data sets, m")
    add("--chains", type=int, default=2)
    add("--draws", type=int, default=1000, help="per chain")
    add("--warmup", type=int, default=1000, help="per chain")
    add("--seed", type=int, default=1)


def _read_brackets(path: str | None) -> Brackets | None:
    if path is None:
        return None
    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {path}.")
    try:
        return read_brackets(file.read_text())
    except UnicodeDecodeError:
        raise InputError(f"The file {path} is not text.") from None


def compare_settings(args: argparse.Namespace) -> Settings:
    """Settings from the command line, an example's own where the user gave none."""
    example, outcome, predictors = chosen_columns(args.data, args.outcome, args.predictors)
    same = (
        *MODEL_OPTIONS - {"bounds", "program"},
        "scale",
        "shift",
        "epsilon",
        "risk_map",
        "risk_threshold",
        "risk_reference",
        "radius",
        "printed_truncation",
        "reweight_tolerance",
        "match_epsilon",
        "bins",
        "datasets",
        "chains",
        "draws",
        "warmup",
        "seed",
    )
    return make_settings(
        outcome=outcome,
        predictors=predictors,
        categorical=tuple(args.categorical),
        **own_program(args.model, args.program)
        or {"model": args.model or (example.model if example else "lognormal")},
        bounds=tuple(args.bounds) if args.bounds else (example.bounds if example else None),
        range=tuple(args.range),
        tail=tuple(args.tail) if args.tail else None,
        brackets=_read_brackets(args.brackets),
        percentiles=tuple(args.percentiles),
        **{name: getattr(args, name) for name in same},
    )


def load_reference(settings: Settings, data_seed: int) -> Table | RiskMap | None:
    """What the settings' risk map is frozen on: a table, or the map that a plan carries."""
    name = settings.risk_reference
    if name == "current":
        return None
    if name.lower().endswith(".json"):
        plan = read_plan(name)
        content = find_map(plan, [Path(name).parent, plans_directory()])
        if content is None:
            raise InputError(f"The plan {name} has no risk map: its mechanism uses no weights.")
        return load_map(plan, content)
    # A simulated reference is another sample of the design, not the table itself.
    return load_data(name, None, data_seed + 1000)


def record_run(comparison: Comparison, result: Result) -> None:
    """Keep a finished run in the run store; where that cannot be written, the run still counts."""
    with contextlib.suppress(StateError):
        store = RunStore()
        store.record(*run_record(comparison, result))
        store.close()


def open_comparison(args: argparse.Namespace) -> tuple[Comparison, list[str]]:
    """The table, settings and mechanisms that the options name."""
    from synth_core.cache import results_cache

    keys = list(dict.fromkeys(find_mechanism(name).key for name in args.mechanism))
    if args.match_epsilon:
        find_mechanism(args.match_epsilon)
    table = load_data(args.data, args.rows, args.data_seed)
    settings = compare_settings(args)
    reference = load_reference(settings, args.data_seed)
    return Comparison(table, settings, results_cache(), reference=reference), keys


def run_compare(args: argparse.Namespace) -> int:
    """Run the mechanisms one after another and print them."""
    comparison, keys = open_comparison(args)
    results = []
    for key in keys:
        results.append(comparison.run(key))
        record_run(comparison, results[-1])
    if args.format == "json":
        print(json.dumps(as_json(comparison, results), indent=2, ensure_ascii=False))
    else:
        print_table(comparison, results, print)
    return 0
