"""A file is written whole or not at all, and what must survive a power cut is synced."""

import errno
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from synth_core.release.ledger.chain_heads import Heads
from synth_core.release.output.bundle import write_directory, write_file
from synth_core.release.plan.frozen_map import store_map
from synth_core.release.plan.planning import save_plan
from synth_core.system import files
from synth_core.system.cache import Cache


@pytest.fixture
def synced(monkeypatch):
    """What is synced from here on: "file" or "directory", in order."""
    found, sync = [], os.fsync

    def count(handle):
        found.append("directory" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    monkeypatch.setattr(os, "fsync", count)
    return found


def names(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("content", [b"\x00\xff", "a ü\n", lambda stream: stream.write(b"by itself")])
def test_a_file_is_what_a_plain_write_gives(tmp_path, synced, content, durable):
    plain, path = tmp_path / "plain", tmp_path / "file"
    with plain.open("wb") as stream:
        content(stream) if callable(content) else stream.write(
            content.encode() if isinstance(content, str) else content
        )
    path.write_text("an older and longer one, which is replaced")
    files.write_whole(path, content, durable=durable)
    assert path.read_bytes() == plain.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["file", "plain"]
    assert synced == (["file", "directory"] if durable else [])


def test_a_script_may_be_run(tmp_path):
    files.write_whole(tmp_path / "script", "#!/bin/sh\n", durable=False, mode=0o700)
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("broken", ["fsync", "replace", "content"])
@pytest.mark.parametrize("before", [None, b"the old file"])
def test_a_failing_write_leaves_the_old_file_whole_and_nothing_behind(tmp_path, monkeypatch, broken, before):
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def half(stream):
        stream.write(b"the new f")
        if broken == "content":
            fail()

    if broken != "content":
        monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="No space"):
        files.write_whole(path, half, durable=True)
    assert (path.read_bytes() if path.exists() else None) == before
    assert names(tmp_path) == ([] if before is None else ["file"])


class Written:
    digest = "d"

    def canonical(self):
        return "{}"


def test_what_cannot_be_computed_again_is_synced_and_the_cache_is_not(tmp_path, synced):
    durable = ["file", "directory"]
    digest = store_map(b"a map", tmp_path / "plans")
    assert synced == durable
    assert names(tmp_path / "plans") == [f"{digest}.riskmap.npz"]
    synced.clear()
    save_plan(Written(), b"a map", tmp_path / "plans" / "plan.json")
    assert synced == durable * 2  # the map before the plan that names it
    synced.clear()
    heads = Heads(tmp_path)
    key = heads.open_key(False)
    heads.write("s", 1, "head", key)
    assert synced == durable * 3  # the note, the key, the note again
    synced.clear()
    write_directory(tmp_path / "release", {"a": b"1", "b": b"2"})
    assert synced == [*durable * 2, "directory"]
    synced.clear()
    write_file(tmp_path / "release.zip", b"1")
    assert synced == durable
    synced.clear()
    Cache(tmp_path / "results").put("a" * 64, {"n": 1})
    assert not synced


def test_a_full_disk_under_a_release_is_told_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    for write in (
        lambda: write_directory(tmp_path / "r", {"a": b""}),
        lambda: write_file(tmp_path / "z", b""),
    ):
        with pytest.raises(files.FitError, match="the disk is full"):
            write()
    assert names(tmp_path) == []


def test_what_a_killed_process_left_beside_an_archive_goes_with_the_next_write(tmp_path):
    """But what another publisher is writing now stays: both write the same file, each whole."""
    long_ago = time.time() - 2 * files.ABANDONED_SECONDS
    living = f".a.zip.{os.getppid()}-x.tmp"
    for name in (".a.zip.999999999-x.tmp", ".a.zip.1x2y.tmp", ".b.zip.1x2y.tmp", living, ".a.zip.3x4y.tmp"):
        (tmp_path / name).touch()
        if "1x2y" in name:  # by a process of another machine, perhaps
            os.utime(tmp_path / name, (long_ago, long_ago))
    write_file(tmp_path / "a.zip", b"1")
    assert set(names(tmp_path)) == {living, ".a.zip.3x4y.tmp", ".b.zip.1x2y.tmp", "a.zip"}


def test_publishers_at_once_write_the_same_archive(tmp_path):
    """Twenty of them, each many times: none takes another's unfinished file away."""
    content = bytes(200_000)
    with ThreadPoolExecutor(20) as pool:
        for done in [pool.submit(write_file, tmp_path / "a.zip", content) for _ in range(200)]:
            done.result()
    assert (tmp_path / "a.zip").read_bytes() == content
    assert names(tmp_path) == ["a.zip"]
