"""`compare` with blocks: several sensitive variables, one joint row a mechanism and a row for each block beneath."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, replace
from typing import Any

from synth_core.analysis.joint_measures import measures_in_words
from synth_core.analysis.population import populations_words
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.disclosure import AttributeDisclosure
from synth_core.analysis.records.feasible import require_feasible
from synth_core.analysis.records.numbers import NumberMeasures
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.result import PartResult, RecordsResult
from synth_core.analysis.settings import MODEL_OPTIONS, Settings, make_settings
from synth_core.analysis.utility import distinct
from synth_core.analysis.wording.guarantee_sentences import covers_words, in_which_sets, promise_words
from synth_core.cli.compare_output import errors_json, number, population_json
from synth_core.cli.data import load_anchor, load_reference, table_of
from synth_core.cli.notices import say_notices
from synth_core.cli.quoted import split_quoted, unquoted
from synth_core.cli.recorded import record_run
from synth_core.cli.settings_arguments import given_settings, option_name, rules_beside
from synth_core.cli.written_tables import writable, write_tables
from synth_core.data.declared import declared_settings
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.models import USUAL
from synth_core.system.json_text import json_text
from synth_core.system.number_text import ceiling
from synth_core.system.text_table import aligned

OF_A_BLOCK = {"outcome", "model", "program", "guess"} | MODEL_OPTIONS - {"prior_scale"}
HEADER = (
    *("mechanism", "Δ", "ε", "guarantee", "k-marginal", "pMSE ratio", "assoc."),  # of all blocks together
    *("distance", "zero α", "cens.", "seconds"),
)


def add_blocks(command: Any, shares: bool = True) -> None:
    """The options that name sensitive variables, and their shares of epsilon where `--share` is no other option."""
    command.add_argument(
        "--block",
        action="append",
        metavar="NAME=MODEL[:OPTION=VALUE...]",
        help="a sensitive variable and its model, again for each variable, in the order of synthesis; for example "
        "MSP=categorical:categories=1,2,3 or PINCP=two_part:unit=1000:missing=N:guess=40,0.8; what "
        "holds one of = : , stands between quotation marks: 'edu=categorical:categories=\"No, never\",Yes'",
    )
    if shares:
        command.add_argument(
            "--share",
            action="append",
            metavar="NAME=SHARE",
            help="of a block in ε; what is left is divided equally among the others",
        )


def read_block(text: str) -> Block:
    """A block as it is written; raises InputError.

    Examples
    --------
    >>> read_block("MSP=categorical:categories=1,2,N:missing=").options
    {'categories': ('1', '2', 'N')}
    >>> read_block('edu=categorical:categories="None, or other","B: more"').options
    {'categories': ('None, or other', 'B: more')}
    """
    name, *rest = split_quoted(text, "=", 1)
    model, *options = split_quoted("".join(rest), ":")
    name = unquoted(name)
    if not (name and model):
        raise InputError(f"A block is written NAME=MODEL[:OPTION=VALUE...] (given: {text}).")
    given: dict[str, Any] = {}
    for option in options:
        key, *values = split_quoted(option, "=", 1)
        value = "".join(values)
        if key in given:
            raise InputError(f"Block '{name}': the option '{key}' is given twice.")
        given[key] = value
    missing = given.pop("missing", None)
    scale, share = (given.pop(key, None) for key in ("earlier_scale", "share"))
    return Block(
        name,
        model,
        {key: _typed(key, value) for key, value in given.items()},
        None if missing is None else tuple(filter(None, map(unquoted, split_quoted(missing, ",")))),
        None if scale is None else number_of(scale, f"Block '{name}': earlier_scale"),
        None if share is None else number_of(share, f"Block '{name}': share"),
    )


def _typed(key: str, value: str) -> Any:
    """A value as the setting of that name takes it; the settings themselves check it."""
    field = Settings.model_fields.get(key)
    if field is not None and "tuple" in str(field.annotation):
        return tuple(map(unquoted, split_quoted(value, ",")))
    return True if field is not None and field.annotation is bool and not value else value


def number_of(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{what} must be a number (given: {text}).") from None


def blocks_from(args: argparse.Namespace) -> tuple[Block, ...]:
    """The blocks with their shares; raises InputError."""
    blocks: dict[str, Block] = {}
    for block in map(read_block, args.block):
        if block.name in blocks:
            raise InputError(
                f"The block '{block.name}' is named twice. Blocks stand in one order, each conditional on those before "
                f"it, so a variable stands there once."
            )
        blocks[block.name] = block
    for text in args.share or ():
        name, _, share = text.rpartition("=")
        if name not in blocks:
            raise InputError(f"--share names '{name}', which is no block (given: {text}).")
        blocks[name] = replace(blocks[name], share=number_of(share, f"The share of '{name}'"))
    return tuple(blocks.values())


def with_declared(blocks: tuple[Block, ...], table: Table) -> tuple[Block, ...]:
    """The blocks, with what the table's codebook declares of each where the block does not say it."""
    return tuple(
        replace(b, options=declared_settings(table.codebook, b.name, b.model) | b.options) for b in blocks
    )


def with_rules(common: dict[str, Any], blocks: tuple[Block, ...], table: Table) -> dict[str, Any]:
    """Settings of all blocks, with the rules of these variables that the table's codebook declares."""
    names = [block.name for block in blocks]
    return common | {"rules": rules_beside(table, names, common.get("rules", ()))}


def common_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that all blocks have; raises InputError for one that is of a single block."""
    common = given_settings(args)
    wrong = sorted(OF_A_BLOCK & common.keys())
    if wrong:
        raise InputError(
            f"{option_name(wrong[0])} is of one sensitive variable. With blocks it is said in the block, such as "
            f"--block NAME=MODEL:{wrong[0]}=…"
        )
    return common


def open_records(args: argparse.Namespace, table: Table | None = None) -> RecordsAnalysis:
    """The table, if it was not read before, and blocks that the options name; raises InputError."""
    return records_of(args, table, blocks_from(args), common_settings(args))


def records_of(
    args: argparse.Namespace, table: Table | None, blocks: tuple[Block, ...], common: dict[str, Any]
) -> RecordsAnalysis:
    """An analysis of given blocks and of what they have in common; raises InputError."""
    from synth_core.system.cache import results_cache

    chosen = make_settings(**common | {"outcome": blocks[0].name, "model": USUAL})
    table = table_of(args, args.data) if table is None else table
    blocks = with_declared(blocks, table)
    common = with_rules(common, blocks, table)
    reference = load_reference(chosen, args.data_seed, table)
    analysis = RecordsAnalysis(
        table,
        blocks,
        common,
        results_cache(),
        reference=reference,
        anchor=load_anchor(chosen, args.data_seed, table),
    )
    say_notices(analysis, common["rules"])
    return analysis


def check_no_shares(args: argparse.Namespace) -> None:
    """Refuse shares without blocks."""
    if args.share:
        raise InputError("--share divides ε among blocks, and there are none (--block).")


def run_blocks(args: argparse.Namespace) -> int:
    """Run the mechanisms on whole records and print them."""
    keys = list(dict.fromkeys(find_mechanism(name).key for name in args.mechanism))
    analysis = open_records(args)
    require_feasible(keys, analysis.settings, analysis.blocks, analysis.reference is not None)
    directory, results = writable(args.write), []
    for key in keys:
        results.append(analysis.run(key))
        record_run(analysis, results[-1])
        if directory is not None:
            write_tables(directory, analysis, results[-1])
    if args.format == "json":
        print(json_text(as_json(analysis, results)))
    else:
        _print(analysis, results)
    return 0


def _print(analysis: RecordsAnalysis, results: list[RecordsResult]) -> None:
    """One joint row a mechanism, a row for each block beneath, and what they say in words."""
    records = analysis.records
    print(
        f"{analysis.table.name}: {', '.join(block.name for block in analysis.blocks)}, {analysis.table.rows:,} records"
        f" ({records.dropped:,} dropped){' given ' + ', '.join(analysis.predictors) if analysis.predictors else ''}"
        f". {results[0].summary_numbers.whose_accuracy}".rstrip(". ")
    )
    rows = [row for result in results for row in _rows(result)]
    for line in aligned([list(HEADER), *rows]):
        print(line)
    for result in results:
        for problem in result.problems:
            print(f"! {result.mechanism}: a fit has not converged: {problem}")
        print(f"  {result.mechanism}: {promise_words(result.guarantee, analysis.settings.unit_column)[0]}")
        print(f"  {result.mechanism}: {measures_in_words(result.measures)}")
        for line in filter(None, [*map(_of_number, result.numbers), populations_words(result.population)]):
            print(f"  {result.mechanism}, {line}")
        if result.disclosure:
            print(f"  {result.mechanism}: {_of_disclosure(result.disclosure)}")
        for line in _read_beforehand(result):
            print(f"  {result.mechanism}{line}")
    s = analysis.settings
    if strict := [result.point for result in results if result.guarantee.strict]:
        print(
            f"{covers_words(s.unit_column, s.unit_size)} That is where the guarantee is strict, "
            f"{in_which_sets(strict)}; a changed value costs twice as much."
        )
    if any(result.guarantee.strict and result.lipschitz_bounds.size for result in results):
        print("A block's ε is its share, not that variable's protection: later blocks are conditional on it.")
    if any(result.lipschitz_bounds.size for result in results):
        print("Δ is taken over all combinations of the blocks' draws.")


def _read_beforehand(result: RecordsResult) -> list[str]:
    """What was measured, of all blocks at once; or of each what it is anchored at."""
    if not result.point.likelihood.samples:
        return [f": {result.parts[0].result.anchor}"]
    return [f", {part.part.name}: {part.result.anchor}" for part in result.parts if part.result.anchor]


def _three_decimals(value: float | None) -> str:
    return "" if value is None else ceiling(value, 3)


def _rows(result: RecordsResult) -> list[list[str]]:
    """The joint row, and one for each part."""
    mark = " !" if result.problems else ""
    joint = [result.mechanism, _three_decimals(result.lipschitz_bound), f"{ceiling(result.epsilon, 3)}{mark}"]
    measures = result.measures
    joint += [
        result.guarantee.label,
        f"{measures.k_marginal:.0f}",
        f"{measures.pmse_ratio:.2f}",
        f"{measures.association:.3f}",
    ]
    joint += ["", "", "", f"{result.seconds:.2f}"]
    return [joint, *(_part_row(part) for part in result.parts)]


def _of_number(number: NumberMeasures) -> str:
    """Percentiles and the regression of a number in words."""
    errors = ", ".join(
        f"{each.words} {100 * each.error:+.1f} {each.unit}"
        for each in distinct(number.statistics)
        if math.isfinite(each.error)
    )
    said = f"{number.name}: {errors}."
    if number.overlap is None or number.meeting is None:
        return said
    return (
        f"{said} Regression on all other columns: {number.meeting * number.n_coefficients:.3g} of "
        f"{number.n_coefficients} intervals meet, their mean overlap is {number.overlap:.2f}."
    )


def _of_disclosure(disclosures: tuple[AttributeDisclosure, ...]) -> str:
    """What an intruder learns, in words."""
    guessed = ", ".join(f"{each.target} {each.cap:.0%} ({each.baseline:.0%})" for each in disclosures)
    certain = ", ".join(f"{each.target} {each.disco:.1%}" for each in disclosures)
    return (
        f"Who knows the predictors of a record and takes a synthetic record that has them is right in {guessed}, in "
        f"parentheses from the shares alone. Told by all such synthetic records, and rightly: {certain} of the "
        f"records. This is measured, and no guarantee."
    )


def _part_row(part: PartResult) -> list[str]:
    result = part.result
    return [
        f"  {part.part.name}",
        _three_decimals(part.lipschitz_bound),
        f"{_three_decimals(part.epsilon)}{' !' if result.problems else ''}",
        *[""] * 4,
        f"{part.distance:.4f}",
        f"{result.n_zero_weight:,}",
        f"{result.n_censored:,}",
        "cached" if result.cached else f"{result.seconds:.2f}",
    ]


def as_json(analysis: RecordsAnalysis, results: list[RecordsResult]) -> dict[str, Any]:
    """The documented JSON of whole records; later versions only add to it."""
    covers = covers_words(analysis.settings.unit_column, analysis.settings.unit_size).removesuffix(".")
    return {
        "table": {
            "rows": analysis.table.rows,
            "rows_dropped": analysis.records.dropped,
            "blocks": [{"name": block.name, "model": block.model} for block in analysis.blocks],
            "predictors": list(analysis.predictors),
            "fingerprint": analysis.table.fingerprint,
        },
        "results": [_result_json(result, covers) for result in results],
    }


def _result_json(result: RecordsResult, covers: str) -> dict[str, Any]:
    return {
        "mechanism": result.mechanism,
        "guarantee": result.guarantee.label,
        "covers": covers if result.guarantee.strict else None,
        "lipschitz_bound": number(result.lipschitz_bound),
        "epsilon": number(result.epsilon),
        "blocks": [
            {
                "name": part.part.name,
                "model": part.part.settings.model,
                "share": part.part.share,
                "conditional_on": [each.name for each in part.part.settings.earlier],
                "lipschitz_bound": number(part.lipschitz_bound),
                "epsilon": number(part.epsilon),
                "distance": part.distance,
                "n_records": len(part.result.weights),
                "n_zero_weight": part.result.n_zero_weight,
                "n_censored": part.result.n_censored,
                "tuned": part.result.tuned,
                "anchor": part.result.anchor or None,
                "problems": list(part.result.problems),
            }
            for part in result.parts
        ],
        "measures": asdict(result.measures),
        "numbers": [number_json(each) for each in result.numbers],
        "accuracy_by": result.accuracy_by or None,
        "population": [population_json(each) for each in result.population],
        "disclosure": {
            "guarantee": None,
            "of": "an intruder who knows the public predictors",
            "targets": [asdict(each) for each in result.disclosure],
        },
        "problems": list(result.problems),
        "seconds": result.seconds,
    }


def number_json(found: NumberMeasures) -> dict[str, Any]:
    """Percentiles and the regression of a number."""
    return {
        "name": found.name,
        **errors_json(found.statistics),
        "percentile_error": number(found.percentile_error),
        "regression": {
            "on": "all other columns",
            "interval_overlap": number(found.overlap),
            "intervals_meeting": found.meeting,
            "n_coefficients": found.n_coefficients,
        },
    }
