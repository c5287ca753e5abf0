"""Fixtures of releases."""

import itertools

import pytest


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A state directory of its own, and secrets that are the same in every run of the tests."""
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    numbers = itertools.count(1)
    monkeypatch.setattr("synth_core.release.ledger.ledger.new_secret", lambda: f"{next(numbers):064x}")
