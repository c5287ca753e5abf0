"""The frozen risk map as a file: what lies beside a plan and never leaves the agency.

A NumPy archive without pickle, mode 0600, named by its own checksum, which the plan holds. It
carries posterior draws of the reference table and, for count weights, that table's sorted
outcome: internal, always.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.mechanism_weights import weights_of
from synth_core.analysis.risk_map import FrozenReweighting, RiskMap, map_of
from synth_core.analysis.setting_words import setting_value
from synth_core.analysis.settings import Settings, setting_name
from synth_core.data.design import DesignTransform
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.ranges import tail_start
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.models import OwnProgram, build_model, family
from synth_core.models.records import Records
from synth_core.release.plan.plan import FrozenFile, Plan
from synth_core.system import files, limits

SUFFIX = ".riskmap.npz"
MAX_DRAWS = limits.CHAINS[1] * limits.DRAWS[1]
SPECIMEN_DRAWS = 100  # at which made-up records must have likelihoods
OF_PRIORS = {"concentration"}  # options of a model that no likelihood reads


def freeze(analysis: Analysis, mechanism: Mechanism, tuned: dict[str, float]) -> RiskMap:
    """Everything that a weight of `mechanism` depends on besides the record itself.

    Parameters
    ----------
    analysis : Analysis
        Of the table that the plan is tuned on, under its final settings.
    tuned : dict
        What was solved for there: k, scalar.
    """
    fits, s = analysis.fits, analysis.settings
    chosen = analysis.frozen or map_of(fits)
    reweighting = chosen.reweighting
    if "reweighting" in mechanism.adjustments and reweighting is None:
        before = replace(mechanism, adjustments=tuple(a for a in mechanism.adjustments if a != "reweighting"))
        weights = weights_of(before, fits, analysis.frozen, tuned.get("scalar")).weights
        posterior, key = fits.posterior(weights, text="fitting before re-weighting")
        bound = fits.bounds(posterior, key, weights).lipschitz_bound
        reweighting = FrozenReweighting(tuned["k"], posterior, bound)
    tail_from = chosen.tail_from
    if mechanism.standard.of_range and s.tail is not None and s.brackets is None and tail_from is None:
        tail_from = tail_start(fits.model.records.outcome, s.tail[0])
    counts = SCHEMES[mechanism.scheme].counts
    return replace(
        chosen,
        outcome=np.sort(chosen.outcome) if counts else np.empty(0),
        scalar=tuned.get("scalar"),
        reweighting=reweighting if "reweighting" in mechanism.adjustments else None,
        tail_from=tail_from,
        closed=True,
    )


def to_bytes(frozen: RiskMap) -> bytes:
    """A risk map as an archive of arrays and one JSON text."""
    transform, how = frozen.transform, frozen.reweighting
    meta = {
        "name": frozen.name,
        "fingerprint": frozen.fingerprint,
        "records": frozen.records,
        "span": frozen.spans["max_abs_log_lik"],
        "oscillation_span": frozen.spans["oscillation"],
        "lipschitz_bound": frozen.lipschitz_bound,
        "tail_from": frozen.tail_from,
        "predictors": transform.predictors,
        "levels": {k: [_plain(v) for v in levels] for k, levels in transform.levels.items()},
        "names": transform.names,
        "diagnostics": asdict(frozen.posterior.diagnostics),
        "weighted": None
        if how is None
        else {"lipschitz_bound": how.lipschitz_bound, "diagnostics": asdict(how.posterior.diagnostics)},
    }
    arrays: dict[str, Any] = {
        "__json__": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
        "outcome": frozen.outcome,
        "center": transform.center,
        "scale": transform.scale,
    }
    arrays |= {f"draw:{k}": v for k, v in frozen.posterior.draws.items()}
    if how is not None:
        arrays |= {f"weighted:{k}": v for k, v in how.posterior.draws.items()}
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def store_map(content: bytes, directory: Path) -> str:
    """Write a risk map 0600 under its checksum, whole or not at all; returns the checksum."""
    digest = hashlib.sha256(content).hexdigest()
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    files.write_whole(directory / f"{digest}{SUFFIX}", content, durable=True)
    return digest


def find_map(plan: Plan, directories: list[Path]) -> bytes | None:
    """The stored map of a plan, from the first directory that has it; None if it needs none.

    Raises
    ------
    InputError
        If no directory has it.
    """
    if plan.frozen is None:
        return None
    for directory in directories:
        path = directory / f"{plan.frozen.sha256}{SUFFIX}"
        with contextlib.suppress(OSError):
            if path.is_file() and path.stat().st_size <= limits.MAX_RISK_MAP_BYTES:
                return path.read_bytes()
    raise InputError(
        f"The plan's risk map is missing: put the file {plan.frozen.sha256[:12]}…{SUFFIX}, which was written with "
        f"the plan, beside it."
    )


def pack(maps: list[bytes]) -> bytes:
    """The maps of whole records, one for each part, as one file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for place, content in enumerate(maps):
            archive.writestr(zipfile.ZipInfo(_member(place)), content)
    return stream.getvalue()


def _member(place: int) -> str:
    return f"{place}.npz"


def _unpacked(content: bytes, n_parts: int) -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if [entry.filename for entry in entries] != [_member(place) for place in range(n_parts)]:
            raise InputError("The risk map has not one part for each that the plan fits.")
        if sum(entry.file_size for entry in entries) > limits.MAX_RISK_MAP_BYTES:
            raise InputError("The risk map unpacks to more than any that this program wrote.")
        return [archive.read(entry) for entry in entries]


def load_maps(plan: Plan, content: bytes) -> tuple[RiskMap, ...]:
    """The risk maps of a plan from its file's bytes: one, or of whole records one for each part; none if it has none.

    Raises
    ------
    InputError
        If the file is another one than the plan names, or is damaged.
    """
    if plan.frozen is None:
        return ()
    if hashlib.sha256(content).hexdigest() != plan.frozen.sha256:
        raise InputError("The risk map is not the one that the plan was made with (its checksum differs).")
    try:
        if not plan.blocks:
            return (_sound(plan.frozen, plan.settings, content),)
        settings = [part.settings for part in plan.parts]
        parts = zip(settings, _unpacked(content, len(settings)), strict=True)
        return tuple(_sound(plan.frozen, each, part, f":{i}") for i, (each, part) in enumerate(parts))
    except InputError:
        raise
    except Exception:  # the readers of zip, NumPy and JSON raise many kinds
        raise InputError("The risk map beside the plan cannot be read; make the plan again.") from None


def load_map(plan: Plan, content: bytes) -> RiskMap:
    """The risk map of a plan of one sensitive variable; raises InputError as `load_maps` does."""
    if plan.blocks:
        raise InputError("The plan's risk map is of whole records. Take the table that it was frozen on.")
    [risk_map] = load_maps(plan, content)
    return risk_map


def require_same_risk(plan: Plan, settings: Settings) -> None:
    """Refuse a plan's risk map beside settings under which risk is measured otherwise than there.

    Of another model, density or design the draws say nothing, and of records the span of whole units is too wide, as
    that of records is too narrow for units.

    Raises
    ------
    InputError
        That names each setting that differs.
    """
    theirs = plan.settings
    names = {"model", "program", "predictors", "unit_column", *family(settings.model).uses} - OF_PRIORS
    differing = [
        setting_name(name)
        + (
            ""
            if name == "program"  # its whole text
            else f" (there {setting_value(theirs, name)}, here {setting_value(settings, name)})"
        )
        for name in Settings.model_fields
        if name in names and getattr(theirs, name) != getattr(settings, name)
    ]
    if not differing:
        mine, other = (set(s.categorical) & set(s.predictors) for s in (settings, theirs))
        differing = [f"predictors that are categories ({name})" for name in sorted(mine ^ other)]
    if differing:
        raise InputError(
            f"The plan's risk map was made under other settings: {'; '.join(differing)}. It says nothing of what is "
            "risky under these: take those of the plan, or name the table that it was tuned on as the risk reference."
        )


def _sound(file: FrozenFile, settings: Settings, content: bytes, part: str = "") -> RiskMap:
    risk_map = _parse(file, content, part)
    _try(settings, risk_map)
    return risk_map


def _parse(file: FrozenFile, content: bytes, part: str) -> RiskMap:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > limits.MAX_RISK_MAP_BYTES:
        raise InputError("The risk map unpacks to more than any that this program wrote.")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    meta = json.loads(arrays.pop("__json__").tobytes())
    for array in arrays.values():
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise InputError("The risk map holds something else than finite numbers.")
    spans = {
        "max_abs_log_lik": _span(meta["span"]),
        "oscillation": None if meta.get("oscillation_span") is None else _span(meta["oscillation_span"]),
    }
    if not math.isfinite(meta["lipschitz_bound"]):
        raise InputError("The risk map's largest bound is not finite.")
    transform = DesignTransform.from_parts(
        tuple(meta["predictors"]),
        {k: tuple(v) for k, v in meta["levels"].items()},
        tuple(meta["names"]),
        arrays["center"],
        arrays["scale"],
    )

    def posterior(prefix: str, diagnostics: dict[str, Any]) -> Posterior:
        draws = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
        return Posterior(draws, Diagnostics(**diagnostics), 0.0)

    weighted = meta["weighted"]
    how = None
    if weighted is not None and file.k is not None:
        how = FrozenReweighting(
            file.k, posterior("weighted:", weighted["diagnostics"]), float(weighted["lipschitz_bound"])
        )
    return RiskMap(
        name=str(meta["name"]),
        fingerprint=str(meta["fingerprint"]),
        records=str(meta.get("records", "")),
        key=f"{file.sha256}:{file.k}:{file.scalar}{part}",
        transform=transform,
        posterior=posterior("draw:", meta["diagnostics"]),
        spans=spans,
        lipschitz_bound=float(meta["lipschitz_bound"]),
        outcome=arrays["outcome"],
        scalar=file.scalar,
        reweighting=how,
        tail_from=meta["tail_from"],
        closed=True,
    )


def _try(s: Settings, risk_map: RiskMap) -> None:
    """Made-up records of every category have likelihoods under the draws, or these are of another model.

    Raises
    ------
    Exception
        Of any kind, if they have none.
    """
    design = risk_map.transform.specimen()
    if s.model == OwnProgram.name:
        return  # it would have to run: its own checks come first
    n = len(design)
    outcome = np.ceil(max(1.0, 1.0 - s.offset)) + np.arange(n)
    if s.bounds is not None and family(s.model).needs_bounds:
        outcome = np.linspace(*s.bounds, n + 2)[1:-1]
    if s.outcome_categories:
        outcome = np.arange(n) % len(s.outcome_categories)
    if s.bracket_edges:
        outcome = np.linspace(s.bracket_edges[0], s.bracket_edges[-1], n + 2)[1:-1]
    # Earlier sensitive variables: all of them at nought.
    names = [name for each in s.earlier for name in each.column_names]
    design = np.hstack([design, np.zeros((n, len(names)))])
    records = Records(outcome.astype(float), design, (*risk_map.transform.names, *names))
    model = build_model(s.model, records, **s.model_options)
    posteriors = [risk_map.posterior] + (
        [] if risk_map.reweighting is None else [risk_map.reweighting.posterior]
    )
    for posterior in posteriors:
        lengths = {len(values) for values in posterior.draws.values()}
        if len(lengths) != 1 or max(lengths) > MAX_DRAWS:  # before the work: it grows with their number
            raise InputError(
                "The risk map's draws are more than any that this program wrote, or not one number."
            )
        some = posterior.thinned(SPECIMEN_DRAWS)
        if model.log_lik(some, np.arange(n)).shape != (min(SPECIMEN_DRAWS, posterior.n_draws), n):
            raise InputError("The risk map's draws do not belong to the plan's model.")


def _span(value: Any) -> tuple[float, float]:
    low, high = float(value[0]), float(value[1])
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        raise InputError("The risk map's span is not one.")
    return low, high
