"""What every test of the interface needs."""

import sys

import pytest


@pytest.fixture(autouse=True)
def few_mechanisms(monkeypatch):
    """A newcomer of a test starts with two mechanisms, which no test waits long for."""
    monkeypatch.setenv("SYNTH_MECHANISMS", "unweighted,weighted")


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """AppTest leaves its script as `__main__`, which processes that are spawned later would run."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
