"""Chains of a release: their generators are keyed by its secret, which no other user of the machine can read."""

import itertools
import secrets
import stat
from pathlib import Path

import numpy as np
import psutil
import pytest

from synth_core.engine.sampling import Sampler, random_words, sample
from synth_core.models import build_model
from tests.conftest import records_of

pytestmark = pytest.mark.stan
SECRET = 0x9E3779B97F4A7C15F39CC0605CEDC8341082276BF3A27251F86C6A11D0C18E95


@pytest.fixture(scope="module")
def model():
    return build_model("lognormal", records_of(np.random.default_rng(1).lognormal(size=200)))


def draws(model, secret, seed=7, **more):
    sampler = Sampler(draws=50, warmup=50, seed=seed, secret=secret)
    return sample(model.executable(), model.stan_data(np.ones(200)), ("sigma",), sampler, **more).draws[
        "sigma"
    ]


def test_draws_follow_from_the_secret_and_from_nothing_else(model):
    first = draws(model, SECRET)
    np.testing.assert_array_equal(first, draws(model, SECRET, seed=8))  # the seed has no part in it
    for bit in (0, 31, 100, 255):
        assert not np.isin(draws(model, SECRET ^ (1 << bit)), first).any()
    assert not np.isin(first[:50], first[50:]).any()  # chains differ
    assert not np.isin(draws(model, None), first).any()


def test_words_are_many_and_of_one_chain_each():
    words = random_words(SECRET, 4)
    assert words.shape == (16,) and len(set(words.tolist())) == 16
    assert words.min() >= 0 and words.max() < 2**31
    np.testing.assert_array_equal(words[:8], random_words(SECRET, 2))
    # Every bit of the 31 occurs: 400 words miss one of 31 bits with probability 31 * 2^-399.
    seen = np.bitwise_or.reduce(random_words(secrets.randbits(256), 100))
    assert seen == 2**31 - 1


def test_no_argument_and_no_readable_file_of_a_sampler_holds_what_it_draws_with(model):
    words = [str(word) for word in random_words(SECRET, 2)]
    lines, modes = [], []

    def look(share):
        for child in psutil.Process().children(recursive=True):
            try:
                line = child.cmdline()
            except psutil.Error:  # it has ended
                continue
            lines.append(line)
            files = [Path(part.removeprefix("file=")) for part in line if part.startswith("file=")]
            for each in itertools.chain.from_iterable((f, f.parent) for f in files if f.exists()):
                if each.is_dir() or each.name == "data.json":
                    modes.append(stat.S_IMODE(each.stat().st_mode))

    sampler = Sampler(draws=3000, warmup=3000, seed=1_234_567_890, secret=SECRET)
    sample(model.executable(), model.stan_data(np.ones(200)), ("sigma",), sampler, look)
    told = [part for line in lines for part in line]
    assert any(part == "seed=1" for part in told), "no sampler was seen running"
    assert not any(word in part for part in told for word in (*words, "1234567890", hex(SECRET)[2:10]))
    assert modes and all(mode & 0o077 == 0 for mode in modes)
