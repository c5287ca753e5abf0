"""What leaves, byte by byte: of marked secrets of every kind, none is in the public archive."""

import getpass
import io
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.release.making.drawing import Request
from synth_core.release.making.releasing import RELEASED, release
from synth_core.release.plan.planning import Decision, make_plan
from synth_core.system.cache import Cache
from synth_core.system.number_text import significant
from tests.conftest import ROOT
from tests.support.marks import slow_but

pytestmark = pytest.mark.stan

DECISION = Decision(
    series="months",
    reason="CANARY-REASON",
    decided_by="CANARY-WHO",
    tuned_on="historical",
    limit=100.0,
    decimals=4,
)
DECLARED = {"beta": (4.13579246801, 0.23571113171), "sigma": 0.71931713573}  # of anchor values
MECHANISMS = {
    "weighted": {},
    "censored": {"epsilon": 8.0, "unit": 50.0},  # in dollars nearly all is clamped, and has modes
    "anchored": {"epsilon": 6.0, "anchor": "pilot", "guess": (57.0, 0.8)},
    "anchored declared": {"epsilon": 6.0, "anchor": "values", "anchor_values": DECLARED},
}
N = 400


def marked(seed, kind, missing=()):
    """A table with secrets of every kind: values, a column, a category that no row has, its name."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=N).round(3)
    group = pd.Categorical(rng.choice(["north", "south"], N), categories=["north", "south", "CANARY-UNUSED"])
    frame = pd.DataFrame(
        {
            "pay": rng.lognormal(4 + 0.3 * z, 0.7),
            "z": z,
            "group": group,
            "CANARY-COLUMN": [f"CANARY-CELL-{i}" for i in range(N)],
            "CANARY-NUMBER": rng.normal(0, 1, N) + 123456.0,
        }
    )
    frame.loc[list(missing), "pay"] = np.nan
    return Table(f"CANARY-TABLE-{kind}.csv", frame)


@pytest.fixture
def computed(monkeypatch):
    """Every array that is stored while a release is made: draws, weights, bounds."""
    kept = []
    put = Cache.put

    def watched(self, key, entry):
        kept.extend(np.asarray(v, dtype=float) for v in entry.values() if isinstance(v, np.ndarray))
        put(self, key, entry)

    monkeypatch.setattr(Cache, "put", watched)
    return kept


def members(archive):
    with zipfile.ZipFile(archive) as found:
        assert not found.comment
        for entry in found.infolist():
            assert not entry.comment and not entry.extra and entry.date_time[0] == 1980
        return {entry.filename: found.read(entry) for entry in found.infolist()}


def texts_and_numbers(files):
    """All that the files say, however it is written: bytes, unpacked columns, their statistics."""
    blob, numbers = [], []
    for name, content in files.items():
        blob += [name.encode(), content]
        if name.endswith(".parquet"):
            file = pyarrow.parquet.ParquetFile(io.BytesIO(content))
            blob += [str(file.metadata.to_dict()).encode(), str(file.schema_arrow.metadata).encode()]
            table = file.read()
            for column in table.columns:
                if pyarrow.types.is_dictionary(column.type):
                    blob += [str(chunk.dictionary.to_pylist()).encode() for chunk in column.chunks]
            frame = table.to_pandas()
            blob.append(frame.to_csv().encode())
            numbers += [frame[c].to_numpy(dtype=float) for c in frame.select_dtypes("number")]
            for options in (
                {"use_dictionary": False},
                {},
            ):  # the same table not packed: its bytes can be read
                stream = io.BytesIO()
                pyarrow.parquet.write_table(table, stream, compression="none", **options)
                blob.append(stream.getvalue())
        else:
            found = re.findall(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?", content.decode())
            numbers.append(np.array([float(text) for text in found]))
    return b"\n".join(blob), np.unique(np.concatenate(numbers))


@pytest.mark.parametrize("name", slow_but(["weighted", "censored"], MECHANISMS))
def test_no_secret_is_in_the_public_archive(name, tmp_path, monkeypatch, computed):
    for variable in ("USER", "LOGNAME", "HOSTNAME"):
        monkeypatch.setenv(variable, "CANARY-USER")
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "CANARY-STATE"))
    mechanism, more = name.partition(" ")[0], dict(MECHANISMS[name])
    settings = make_settings(outcome="pay", predictors=("z", "group"), model="lognormal", draws=1500, warmup=500,
                             chains=1, **more)  # fmt: skip
    if "anchor_values" in more:
        settings = settings.model_copy(
            update={"anchor_values": DECLARED | {"beta": (*DECLARED["beta"], 0.11317192329)}}
        )
    analysis = Analysis(marked(1, "TUNED"), settings, Cache(tmp_path / "cache"))
    plan, risk_map = make_plan(analysis, analysis.run(mechanism), DECISION)
    tuned = list(computed)
    computed.clear()
    table = marked(2, "RELEASED", missing=range(0, N, 50))
    reasons = {k: "CANARY is not in this reason" for k in ("target", "growth", "convergence")}
    overrides = {} if plan.strict else reasons
    outcome = release(Request(plan, risk_map, table, overrides=overrides))
    assert outcome.state == RELEASED
    [public] = [path for each, path in outcome.archives.items() if "releasable" in each]
    [internal] = [path for each, path in outcome.archives.items() if "INTERNAL" in each]
    files = members(public)
    blob, numbers = texts_and_numbers(files)

    said = blob.replace(b"CANARY is not in this reason", b"")
    place = re.search(rb".{60}CANARY.{60}", said, re.S)
    assert place is None, place
    for words in (str(tmp_path), str(ROOT), str(Path.home()), outcome.id, plan.digest, table.fingerprint):
        assert words.encode() not in said, words
    if len(getpass.getuser()) > 4:
        assert getpass.getuser().encode() not in said

    records = pd.read_parquet(io.BytesIO(members(internal)["months-001-INTERNAL/records.parquet"]))
    released = pd.read_csv(io.BytesIO(files["months-001/synthetic_1.csv"]))["pay"].to_numpy()
    secrets = [
        table.frame["pay"],
        table.frame["CANARY-NUMBER"],
        *(records[c] for c in records if c != "row"),
        *DECLARED.values(),
        *computed,
        *tuned,
    ]
    assert sum(np.size(each) for each in secrets) > 10 * N
    for each in secrets:
        values = np.unique(np.asarray(each, dtype=float).ravel())
        values = values[
            np.isfinite(values) & (values != values.round(3))
        ]  # 0, 1, counts and settings say nothing
        values = values[~np.isin(values.round(4), released)]  # what was drawn is what was released
        near = np.clip(np.searchsorted(numbers, values), 1, len(numbers) - 1)
        gap = np.minimum(np.abs(numbers[near] - values), np.abs(numbers[near - 1] - values))
        assert (gap > 1e-9 * np.abs(values)).all()
        for value in values[:200]:  # nor as a machine number
            assert struct.pack("<d", value) not in blob


def test_the_search_finds_what_is_there():
    """The reading of the files is itself tried: a value, a category of no row and a column's name are found."""
    frame = pd.DataFrame({"x": [1.23456789], "g": pd.Categorical(["a"], ["a", "CANARY-UNUSED"])})
    stream = io.BytesIO()
    frame.to_parquet(stream)
    blob, numbers = texts_and_numbers({"a.parquet": stream.getvalue(), "b.csv": b"y\n2.5\n"})
    assert b"CANARY-UNUSED" in blob and struct.pack("<d", 1.23456789) in blob
    assert {1.23456789, 2.5} <= set(numbers)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (212_784.3, "212,780"),
        (1e6, "1,000,000"),
        (0.0123456, "0.012346"),
        (0.0, "0"),
        (3e-7, "3e-07"),
        (-81.25, "-81.25"),
    ],
)
def test_figures_are_shown_in_full(value, text):
    assert significant(value, 5) == text
