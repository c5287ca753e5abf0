"""A kept result is found again only by what made it."""

import pytest

from synth_core.analysis.result_key import result_key
from synth_core.analysis.settings import Settings
from synth_core.mechanisms.catalogue import MECHANISMS, find_mechanism

BASE = Settings(outcome="x", model="lognormal")
OTHER = {
    "scale": 0.7,
    "shift": 0.1,
    "epsilon": 2.0,
    "radius": 0.31,
    "range": (0.4, 1.7),
    "draws": 999,
    "seed": 12,
    "datasets": 3,
    "outcome": "y",
    "model": "beta",
}


def key(mechanism, reference=None, fingerprint="a", **changes):
    return result_key(fingerprint, BASE.model_copy(update=changes), find_mechanism(mechanism), reference)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_moves_a_mechanism_is_in_its_key(mechanism):
    found = find_mechanism(mechanism)
    for name, value in OTHER.items():
        assert name in Settings.model_fields
        tunes = name in {"scale", "shift", "epsilon", "range"}  # the radius measures the match risk of all
        moves = name in found.tuning or not tunes
        assert (key(mechanism) != key(mechanism, **{name: value})) == moves, name
    assert key(mechanism) != key(mechanism, fingerprint="b")
    assert (key(mechanism) != key(mechanism, reference="map")) == found.reads_others
    assert (key(mechanism) != key(mechanism, pilot_share=0.3)) == found.likelihood.anchors


def test_no_two_mechanisms_share_a_key():
    assert len({key(mechanism) for mechanism in MECHANISMS}) == len(MECHANISMS)
