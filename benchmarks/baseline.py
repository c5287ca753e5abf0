"""The committed measurement that a run is compared with: ratios, never seconds of another machine."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measure import Line

FILE = Path(__file__).parent / "baseline.json"
FACTOR = 1.6  # a ratio that changed by more is marked; two runs on one idle machine differ by up to 1.3


def machine() -> dict[str, Any]:
    """What the numbers were measured on, and what else ran there."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            row.split(":")[1].strip() for row in info.read_text().splitlines() if row.startswith("model name")
        ]
        model = names[0] if names else model
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 1024**3, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def busy() -> bool:
    """Whether others use the machine: more runs than there are cores."""
    return os.getloadavg()[0] > (os.cpu_count() or 1) + 0.5


def compared_with(line: Line, unit: float, known: dict[str, Any]) -> str:
    """How a line differs from the baseline's, in words; empty if it does not.

    A ratio to the naive form or to the floor is compared where there is one, measured in one run and so
    free of the machine's speed; else the time in units of the fixed piece of work of the same run. Wall time
    says nothing while others use the machine: it is compared between runs with a processor to spare.
    """
    before = known["lines"].get(line.path)
    if before is None:
        return "new"
    changes = []
    if line.ratio is not None and before["ratio"]:
        changes.append(("ratio to naive", before["ratio"] / line.ratio))
    elif line.to_floor is not None and before["to_floor"]:
        changes.append(("ratio to the floor", line.to_floor / before["to_floor"]))
    elif line.processor and before["processor"]:
        used = (line.processor / unit) / (before["processor"] / known["unit"])
        changes.append(("relative processor time", used))
    elif line.seconds and before["seconds"] and not (busy() or before["busy"]):
        changes.append(("relative time", (line.seconds / unit) / (before["seconds"] / known["unit"])))
    if line.memory and before["memory"]:
        changes.append(("memory", line.memory / before["memory"]))
    return "; ".join(
        f"{what} {'worse' if change > 1 else 'better'} by {max(change, 1 / change):.1f}"
        for what, change in changes
        if max(change, 1 / change) > FACTOR
    )


def read() -> dict[str, Any]:
    """The committed baseline; an empty one if there is none."""
    if not FILE.exists():
        return {"machine": {}, "unit": 1.0, "lines": {}}
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def write(lines: list[Line], unit: float) -> None:
    """Make this run the baseline; lines of paths that were not run are kept."""
    kept = read()["lines"]
    measured = {
        line.path: {"busy": busy()}
        | {
            name: None if value is None else float(f"{value:.3g}")
            for name, value in (
                ("seconds", line.seconds),
                ("ratio", line.ratio),
                ("to_floor", line.to_floor),
                ("memory", line.memory),
                ("processor", line.processor),
            )
        }
        for line in lines
    }
    content = {"machine": machine(), "unit": float(f"{unit:.4g}"), "lines": kept | measured}
    FILE.write_text(json.dumps(content, indent=1) + "\n")
