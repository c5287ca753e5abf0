"""Files that were edited: a plan and its map, archives with other members, targets that cannot be written."""

import contextlib
import hashlib
import io
import json
import os
import stat
import zipfile

import numpy as np
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.cli import main
from synth_core.data.examples import load_example
from synth_core.data.table import Table, read_table
from synth_core.errors import FitError, InputError
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.plan.frozen_map import MAX_DRAWS, load_map
from synth_core.release.plan.map_apart import require_sound_map
from synth_core.release.plan.plan import parse_plan
from synth_core.release.plan.planning import Decision, make_plan
from synth_core.system import limits
from synth_core.system.cache import Cache
from tests.faults.scene import remount, small_disk

pytestmark = pytest.mark.stan
DECISION = Decision(series="income", reason="a test", decided_by="tester", tuned_on="historical", limit=10.0)
GROUPS = ["a", "b", "c"]


def grouped(seed, n=120):
    table = load_example("lognormal", n, seed)
    groups = np.array(GROUPS)[np.arange(n) % 3]
    return Table("t", table.frame.assign(g=groups))


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    store = Cache(tmp_path_factory.mktemp("cache"))
    settings = make_settings(
        outcome="x", predictors=("z", "g"), model="lognormal", draws=200, warmup=200, chains=1
    )
    analysis = Analysis(grouped(1), settings, store)
    return (*make_plan(analysis, analysis.run("censored_weighted"), DECISION), store)


def forged(plan, content):
    """A plan that names a map of other contents."""
    values = json.loads(plan.canonical())
    values["frozen"]["sha256"] = hashlib.sha256(content).hexdigest()
    return parse_plan(json.dumps(values).encode())


def repacked(content, change, stored=False):
    """The archive of a map with other members."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        for name, body in change(members):
            archive.writestr(name, body)
    return out.getvalue()


def array(values):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def other(name, make):
    """Another body for one member."""

    def change(members):
        return [(n, make(b) if n == name else b) for n, b in members]

    return change


def header_that_lies(body):
    """An array whose header says that it is far larger than what follows."""
    return body.replace(b"(200,", b"(9999999999,", 1).replace(b"          \n", b"\n", 1)


def link(members):
    entry = zipfile.ZipInfo("outcome2.npy")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return [*members, (entry, b"/etc/passwd")]


def outside(members):
    return [*members, ("../../../etc/cron.d/evil.npy", array(np.zeros(1))), ("/evil.npy", array(np.zeros(1)))]


ADDED = {"files outside": outside, "a link": link}

CHANGES = {
    "no JSON": lambda m: [(n, b) for n, b in m if n != "__json__.npy"],
    "no draws": lambda m: [(n, b) for n, b in m if not n.startswith("draw:")],
    "a parameter less": lambda m: [(n, b) for n, b in m if n != "draw:sigma.npy"],
    "fewer draws of one": other("draw:sigma.npy", lambda b: array(np.load(io.BytesIO(b))[:7])),
    "one coefficient less": other("draw:beta.npy", lambda b: array(np.load(io.BytesIO(b))[:, :-1])),
    "one axis more": other("draw:sigma.npy", lambda b: array(np.load(io.BytesIO(b))[:, None])),
    "no draw at all": other("draw:sigma.npy", lambda b: array(np.empty(0))),
    "a center less": other("center.npy", lambda b: array(np.load(io.BytesIO(b))[:-1])),
    "text": other("draw:sigma.npy", lambda b: array(np.array(["x"]))),
    "NaN": other("draw:sigma.npy", lambda b: array(np.full(200, np.nan))),
    "a header that lies": other("draw:sigma.npy", header_that_lies),
    "no array": other("draw:sigma.npy", lambda b: b"no array"),
    "other JSON": other("__json__.npy", lambda b: array(np.frombuffer(b"[1, 2]", np.uint8))),
    "no predictors": other("__json__.npy", lambda b: array(np.frombuffer(
        np.load(io.BytesIO(b)).tobytes().replace(b'"predictors": ["z", "g"]', b'"predictors": []'), np.uint8))),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_map_with_changed_members_is_refused_in_words(planned, name):
    plan, content, _ = planned
    edited = repacked(content, CHANGES[name])
    with pytest.raises(InputError, match=r"risk map|design|map's") as caught:
        load_map(forged(plan, edited), edited)
    assert "Error" not in str(caught.value)


@pytest.mark.slow
def test_a_map_is_read_apart_before_the_server_reads_it(planned, monkeypatch):
    plan, content, _ = planned
    require_sound_map(plan, content)
    edited = repacked(content, CHANGES["NaN"])
    with pytest.raises(InputError, match="something else than finite numbers"):
        require_sound_map(forged(plan, edited), edited)
    monkeypatch.setattr(limits, "READ_SECONDS", 0.01)
    with pytest.raises(InputError, match=r"not read within 0\.01 seconds"):
        require_sound_map(plan, content)


def test_a_map_of_more_draws_than_any_is_refused_before_they_are_used(planned):
    """The archive is small: its draws are all alike. Likelihoods of made-up records at all of them are not."""
    plan, content, _ = planned

    def many(members):
        return [
            (
                n,
                array(np.repeat(np.load(io.BytesIO(b))[:1], MAX_DRAWS + 1, axis=0))
                if n.startswith("draw:")
                else b,
            )
            for n, b in members
        ]

    edited = repacked(content, many)
    assert len(edited) < 1_000_000
    with pytest.raises(InputError, match="more than any that this program wrote"):
        load_map(forged(plan, edited), edited)


@pytest.mark.parametrize("name", ADDED)
def test_members_that_do_not_belong_reach_no_file(planned, name, tmp_path, monkeypatch):
    plan, content, _ = planned
    monkeypatch.chdir(tmp_path)
    edited = repacked(content, ADDED[name])
    with contextlib.suppress(InputError):  # taken for what it is without them, or refused
        load_map(forged(plan, edited), edited)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_map_that_unpacks_to_more_than_any_is_not_unpacked(planned, monkeypatch):
    plan, content, _ = planned
    bomb = repacked(content, lambda m: [*m, ("draw:evil.npy", bytes(600 * 1024**2))])
    assert len(bomb) < 2 * 1024**2
    monkeypatch.setattr(np, "load", lambda *a, **k: pytest.fail("it was unpacked"))
    with pytest.raises(InputError, match="unpacks to more"):
        load_map(forged(plan, bomb), bomb)


def test_the_sound_map_is_taken(planned):
    plan, content, store = planned
    frozen = load_map(plan, content)
    settings = plan.settings.model_copy(update={"risk_reference": "plan"})
    assert (
        Analysis(grouped(3), settings, store, reference=frozen).run("censored_weighted").weights.size == 120
    )


@pytest.mark.parametrize("model", ["lognormal", "two_part", "beta", "poisson"])
def test_a_sound_map_of_every_kind_of_model_is_taken(tmp_path, model):
    rng = np.random.default_rng(3)
    values = {"two_part": np.r_[np.zeros(30), rng.lognormal(3, 1, 90)], "beta": rng.beta(2, 3, 120) * 5 - 2.5,
              "poisson": rng.poisson(4, 120).astype(float)}.get(model, rng.lognormal(3, 1, 120))  # fmt: skip
    frame = grouped(1).frame.assign(x=values)
    predictors = () if model == "beta" else ("z", "g")
    settings = make_settings(outcome="x", predictors=predictors, model=model, draws=200, warmup=200, chains=1,
                             bounds=(-2.6, 2.6) if model == "beta" else None)  # fmt: skip
    analysis = Analysis(Table("t", frame), settings, Cache(tmp_path))
    plan, content = make_plan(analysis, analysis.run("weighted"), DECISION)
    load_map(plan, content)


def test_an_archive_is_no_table(planned, tmp_path, capsys):
    """A released archive, or any other, given where a table is asked for; a workbook whose sizes lie."""
    archive = tmp_path / "months-001-releasable.zip"
    archive.write_bytes(repacked(planned[1], ADDED["a link"]))
    assert main(["compare", str(archive), "--outcome", "x"]) == 2
    assert "cannot be read; use one of" in capsys.readouterr().err
    stream = io.BytesIO()
    load_example("beta", 20).frame.to_excel(stream, index=False)
    packed = bytearray(stream.getvalue())
    central = packed.find(b"PK\x01\x02")
    while central >= 0:
        packed[central + 24 : central + 28] = (1).to_bytes(4, "little")  # what it says it unpacks to
        central = packed.find(b"PK\x01\x02", central + 4)
    with pytest.raises(InputError, match="could not be read"):
        read_table(bytes(packed), "t.xlsx")


@contextlib.contextmanager
def unwritable(directory):
    """A directory into which nobody can write, root included."""
    if os.geteuid() == 0:
        with small_disk(directory, "1m"):
            remount(directory, "ro")
            yield directory
    else:
        directory.mkdir()
        directory.chmod(0o500)
        yield directory
        directory.chmod(0o700)


COMMANDS = {
    "plan": ["plan", "example:beta", "--rows", "150", "--mechanism", "censored", "--epsilon", "6", "--tuned-on",
             "simulated", "--series", "monthly", "--reason", "test", "--decided-by", "me", "--out", "OUT/plan.json"],
    "study": ["study", "like", "example:beta", "--rows", "100", "--replicates", "2", "--out", "OUT/study.csv"],
    "audit": ["audit", "example:beta", "--rows", "60", "--runs", "1000", "--out", "OUT/audit.json"],
    "apply": ["apply", "PLAN", "example:beta", "--rows", "150", "--out", "OUT/deep/below"],
}  # fmt: skip


@pytest.fixture
def no_work(monkeypatch, tmp_path):
    """A state directory of its own, and no fit: a target is asked before the work."""
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(Analysis, "run", lambda *a, **k: pytest.fail("it worked in vain"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_target_that_cannot_be_written_is_said_before_the_work(command, planned, tmp_path, capsys, no_work):
    plan = tmp_path / "plan.json"
    plan.write_text(planned[0].canonical())
    with unwritable(tmp_path / "sealed") as sealed:
        arguments = [a.replace("OUT", str(sealed)).replace("PLAN", str(plan)) for a in COMMANDS[command]]
        assert main(arguments) == 1
        said = capsys.readouterr().err
        assert "sealed cannot be written" in said and said.count("\n") == 1
        assert "Make it writable" in said
        assert not list(sealed.iterdir())
    assert not (tmp_path / "state" / "ledger").exists() or Ledger().series() == []


@pytest.mark.parametrize("command", ["plan", "study", "audit"])
def test_a_target_that_is_no_file_is_refused(command, tmp_path, capsys, no_work):
    for target in (tmp_path, "/dev/null", tmp_path / "nowhere" / "x.json"):
        arguments = [*COMMANDS[command][:-1], str(target)]
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert "--out must name a file" in said or "ends in .json" in said


def test_an_old_report_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    from synth_core.cli import output

    path = tmp_path / "study.csv"
    path.write_text("an old one\n")
    with monkeypatch.context() as patch:
        patch.setattr(output.files.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(FitError, match="disk is full"):
            output.show_or_write("a new one", output.destination(str(path)))
    assert path.read_text() == "an old one\n"
    assert list(tmp_path.iterdir()) == [path]
    output.show_or_write("a new one", output.destination(str(path)))
    assert path.read_text() == "a new one\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
