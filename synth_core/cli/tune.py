"""`tune`: from a target to settings: a stated accuracy with the least epsilon, or a given epsilon."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.analysis.wording.guarantee_sentences import covers_words
from synth_core.cli.compare import add_options
from synth_core.cli.explored import open_explored
from synth_core.cli.map import add_sweep, say
from synth_core.cli.output import finite
from synth_core.cli.records import add_blocks
from synth_core.errors import InputError
from synth_core.experiments.explore.division import (
    check_divisible,
    divided_for,
    shares_by_name,
)
from synth_core.experiments.explore.measures import Target, read_target
from synth_core.experiments.explore.records_point import difference_of
from synth_core.experiments.explore.sweep import read_sweep
from synth_core.experiments.explore.targets import EpsilonTarget, TuningAnswer
from synth_core.experiments.explore.tuning import expected_fits, tune, variants_for
from synth_core.experiments.explore.wording import (
    DATA_DEPENDENT,
    answer_text,
    at_zeros_of,
    best_answers,
    guarantee_label,
    sure_text,
    verdict,
)
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits
from synth_core.system.json_text import json_text


def add(commands: Any) -> None:
    """Add the sub-command."""
    command = commands.add_parser(
        "tune", help="find the settings that reach an accuracy with the least epsilon, or a given epsilon"
    )
    add_options(command, ["weighted", "exponential"])
    add_sweep(command)
    command.add_argument(
        "--target",
        required=True,
        help="ecdf_max<=0.05, q90<=2%%, mean<=1%%, epsilon=4, or epsilon=MECHANISM: the epsilon that this "
        "one has as it is set",
    )
    add_blocks(command, shares=False)
    command.add_argument(
        "--divide",
        action="store_true",
        help="with blocks and an accuracy: first divide ε of a strict mechanism so that each variable has the least "
        "that it needs",
    )
    command.add_argument(
        "--share",
        dest="share_of_sets",
        type=float,
        default=0.9,
        help="share of synthetic data sets in which an accuracy is to be reached",
    )
    command.add_argument(
        "--by", default="ecdf_max", metavar="MEASURE", help="what decides among settings of the same epsilon"
    )
    command.add_argument("--format", choices=("table", "json"), default="table")
    command.set_defaults(run=run_tune, share=None)


def read_goal(text: str, share: float, by: str) -> Target | EpsilonTarget:
    """A target as written on the command line."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if name != "epsilon" or not equals:
        return read_target(text, share)
    try:
        number = float(value)
    except ValueError:
        return EpsilonTarget(None, by, find_mechanism(value).key)
    return EpsilonTarget(number, by)


def run_tune(args: argparse.Namespace) -> int:
    """Tune each mechanism by itself and print the answers, the best of each guarantee first."""
    target = read_goal(args.target, args.share_of_sets, args.by)
    sweeps = [read_sweep(text) for text in args.sweep or ()]
    analysis, keys = open_explored(args, target.measure)
    analysis = analysis.with_settings(match_epsilon=None)
    searches = {key: variants_for(key, analysis.settings, sweeps) for key in keys}
    count = sum(len(variants) for variants in searches.values())
    fits = {key: expected_fits(find_mechanism(key), analysis.settings, target) for key in searches}
    if count > limits.MAX_SEARCHES:
        refits = sum(fits[key] * len(variants) for key, variants in searches.items())
        raise InputError(
            f"This asks for {count:,} searches, about {refits:,} refits; at most {limits.MAX_SEARCHES} are made at "
            "once. Sweep fewer settings."
        )
    if args.divide:
        check_divisible(analysis, keys, target)
    answers = []
    for key, variants in searches.items():
        say(f"{find_mechanism(key).label}: searches: {len(variants)}, of about {fits[key]} refits each")
        under = analysis
        if args.divide:
            say(f"{find_mechanism(key).label}: dividing ε")
            under = divided_for(analysis, key, target)
        answers.append(replace(tune(under, key, target, variants), shares=shares_by_name(under)))
    if args.format == "json":
        print(json_text(_json(answers, target)))
        return 0
    zeros = next((at_zeros_of(each.point, target.measure) for each in answers if each.point is not None), "")
    print(" ".join(filter(None, [verdict(answers, target), zeros, analysis.settings.whose_accuracy])))
    for answer in answers:
        print(f"  {answer_text(answer)}")
        if answer.point is not None and (sure := sure_text(answer)):
            print(f"    {sure}")
        for variable in _variables(answer):
            print(f"    {_variable_text(variable)}")
    s = analysis.settings
    if analysis.blocks:
        print(
            f"An error is the largest over the sensitive variables. {covers_words(s.unit_column, s.unit_size)}"
        )
    print(DATA_DEPENDENT)
    return 0


def _variables(answer: TuningAnswer) -> list[dict[str, Any]]:
    """What each of several sensitive variables has at an answer: its share of ε, and its largest difference."""
    if answer.point is None:
        return []
    keeps = find_mechanism(answer.mechanism).epsilon_by_construction
    return [
        {
            "name": name,
            "share": share if keeps else None,
            "epsilon": share * answer.point.epsilon if keeps else None,
            "difference": finite(answer.point.bands[difference_of(name)][1]),
        }
        for name, share in answer.shares.items()
    ]


def _variable_text(variable: dict[str, Any]) -> str:
    epsilon = (
        ""
        if variable["share"] is None
        else f"ε = {epsilon_number(variable['epsilon'])} ({variable['share']:.1%}), "
    )
    return f"{variable['name']}: {epsilon}difference {variable['difference']:.3g} in the middle"


def _json(answers: list[TuningAnswer], target: Target | EpsilonTarget) -> dict[str, Any]:
    """The documented JSON of an inverse tuning."""
    return {
        "verdict": verdict(answers, target),
        "best": [a.mechanism for a in best_answers(answers, target)],
        "answers": [
            {
                "mechanism": a.mechanism,
                "reached": a.point is not None,
                "why_not": a.why or None,
                "settings": a.point.knobs if a.point else None,
                "epsilon": a.point.epsilon if a.point else None,
                "guarantee": guarantee_label(a.point) if a.point else None,
                "epsilon_wanted": a.wanted,
                "utility": {
                    "measure": target.measure,
                    **dict(
                        zip(
                            ("q05", "median", "q95"),
                            map(finite, a.point.bands[target.measure]),
                            strict=True,
                        )
                    ),
                }
                if a.point
                else None,
                "share_meeting_target": a.share,
                "share_interval_95": a.interval,
                "fresh_data_sets": a.n,
                "fits_of_fresh_data_sets": a.n_fits,
                "epsilon_over_seeds": a.epsilon_seeds,
                "below": a.below,
                "refits": a.refits,
                "blocks": _variables(a),
            }
            for a in answers
        ],
        "note": DATA_DEPENDENT,
    }
