import json
import multiprocessing
import os
import stat
import time

import numpy as np
import pytest

from synth_core.system.cache import Cache, content_key

KEY = content_key(what="a test")


def test_round_trip(cache):
    entry = {"a": np.arange(5.0), "text": "µ", "nested": {"n": [1, None]}, "x": 1.5}
    cache.put(KEY, entry)
    found = cache.get(KEY)
    np.testing.assert_array_equal(found.pop("a"), entry.pop("a"))
    assert found == entry


def test_private(cache):
    cache.put(KEY, {"a": np.zeros(1)})
    path = cache._path(KEY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "pickle"])
def test_a_damaged_entry_is_computed_again(cache, damage):
    calls = []

    def compute():
        calls.append(1)
        return {"a": np.arange(1000.0)}

    cache.get_or_compute(KEY, compute)
    path = cache._path(KEY)
    content = bytearray(path.read_bytes())
    if damage == "truncate":
        content = content[: len(content) // 2]
    elif damage == "flip":
        content[len(content) // 2] ^= 0xFF
    elif damage == "empty":
        content = bytearray()
    path.write_bytes(bytes(content))
    if damage == "pickle":
        with path.open("wb") as stream:
            np.savez(stream, a=np.array([object()], dtype=object))
    entry, cached = cache.get_or_compute(KEY, compute)
    assert not cached
    assert len(calls) == 2
    np.testing.assert_array_equal(entry["a"], np.arange(1000.0))
    assert cache.get_or_compute(KEY, compute)[1]


def _slow(directory, counter):
    from pathlib import Path

    def compute():
        with open(counter, "a") as stream:
            stream.write("x")
        time.sleep(0.4)
        return {"a": np.ones(3)}

    Cache(Path(directory)).get_or_compute(KEY, compute)


@pytest.mark.slow
def test_processes_that_want_the_same_compute_it_once(cache, tmp_path):
    counter = tmp_path / "count"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_slow, args=(str(cache.directory), str(counter))) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert counter.read_text() == "x"


def test_waiting_can_be_stopped(cache):
    from synth_core.system.locks import file_lock

    class Stop(Exception):
        pass

    def stop():
        raise Stop

    with file_lock(cache.directory / "locks" / KEY[:16]), pytest.raises(Stop):
        cache.get_or_compute(KEY, dict, stop)


def test_the_oldest_go_first_when_it_is_full(tmp_path):
    cache = Cache(tmp_path, max_bytes=40_000)
    keys = [content_key(i=i) for i in range(4)]
    for age, key in enumerate(keys):
        cache.put(key, {"a": np.zeros(1500)})
        os.utime(cache._path(key), (age + 1, age + 1))
    cache.get(keys[0])  # used again: the newest now
    cache.prune()
    assert cache.size() <= 40_000
    assert cache.get(keys[0]) is not None
    assert cache.get(keys[1]) is None


def test_purge(cache):
    cache.put(KEY, {"a": np.zeros(1)})
    cache.purge()
    assert cache.get(KEY) is None
    assert cache.size() == 0


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    cache = Cache(blocker / "below")  # a directory that cannot exist
    entry, cached = cache.get_or_compute(KEY, lambda: {"a": np.ones(2)})
    assert not cached
    assert entry["a"].sum() == 2


def test_keys_follow_content():
    a = np.arange(6.0)
    assert content_key(x=a) == content_key(x=a.copy())
    assert content_key(x=a) != content_key(x=a.reshape(2, 3))
    assert content_key(x=a) != content_key(x=a.astype(np.float32))
    assert content_key(x=a) != content_key(x=a + 1e-15)
    assert content_key(x=1, y=2) == content_key(y=2, x=1)
    with pytest.raises(TypeError):
        content_key(x=object())
    assert json.dumps(content_key(x=1))


def test_no_flipped_bit_is_ever_believed(cache):
    """Every byte of an entry, damaged one at a time: what is read is what was stored, or nothing."""
    stored = {"a": np.arange(6.0), "n": 3, "text": "µ"}
    cache.put(KEY, stored)
    path = cache._path(KEY)
    sound, absent = path.read_bytes(), 0
    for i in range(len(sound)):
        damaged = bytearray(sound)
        damaged[i] ^= 1 << (i % 8)
        path.write_bytes(damaged)
        found = cache.get(KEY)
        absent += found is None
        if found is not None:
            np.testing.assert_array_equal(found.pop("a"), stored["a"])
            assert found == {"n": 3, "text": "µ"}
    assert absent > len(sound) / 2


def test_an_entry_that_cannot_be_read_now_is_not_thrown_away(cache, monkeypatch):
    cache.put(KEY, {"a": np.ones(2)})
    for error in (OSError(24, "Too many open files"), MemoryError()):
        with monkeypatch.context() as patch:
            patch.setattr(np, "load", lambda *_, error=error, **__: (_ for _ in ()).throw(error))
            assert cache.get(KEY) is None
        assert cache.get(KEY) is not None
    with monkeypatch.context() as patch:  # a read-only disk: used, though its age cannot be renewed
        patch.setattr(os, "utime", lambda *_: (_ for _ in ()).throw(OSError(30, "Read-only file system")))
        assert cache.get(KEY) is not None


def test_what_cannot_be_stored_is_said_once_with_what_to_do(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "below")
    for i in range(3):
        cache.get_or_compute(content_key(i=i), lambda: {"a": np.ones(2)})
    assert len(caplog.records) == 1
    assert "SYNTH_RESULTS_DIR" in caplog.text and "shown and not kept" in caplog.text
    cache.directory = tmp_path / "elsewhere"
    cache.get_or_compute(KEY, lambda: {"a": np.ones(2)})
    assert cache.problem == ""


def test_what_killed_writers_left_is_cleared(cache):
    cache.put(KEY, {"a": np.ones(2)})
    torn, fresh = (cache._path(KEY).parent / name for name in ("torn.tmp", "fresh.tmp"))
    for path in (torn, fresh):
        path.write_bytes(b"half")
    os.utime(torn, (time.time() - 7200, time.time() - 7200))
    (cache.directory / "locks").mkdir()
    old = cache.directory / "locks" / "old"
    old.touch()
    os.utime(old, (1, 1))
    cache.prune()
    assert fresh.exists() and not torn.exists() and not old.exists()
    assert cache.get(KEY) is not None
