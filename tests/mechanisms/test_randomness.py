"""Random numbers of a release: a cipher's, against its standard; noise by whole numbers, against its law."""

import math

import numpy as np
import pytest
from scipy import stats

from synth_core.mechanisms.noise import OpendpNoise, laplace
from synth_core.mechanisms.randomness import exact_laplace, is_secret, stream_of
from tests.support.marks import slow_but

SECRET = 2**255 + 12345


def chacha20_block(key: bytes, counter: int) -> list[int]:
    """The 16 words of a block, after RFC 8439 (2.3), with a 64-bit counter as in Bernstein's original."""

    def turn(a, b, c, d):
        for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) % 2**32
            mixed = state[z] ^ state[x]
            state[z] = (mixed << bits | mixed >> (32 - bits)) % 2**32

    words = [int.from_bytes(key[i : i + 4], "little") for i in range(0, 32, 4)]
    first = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *words, counter, 0, 0, 0]
    state = list(first)
    for _ in range(10):
        for place in range(4):
            turn(place, place + 4, place + 8, place + 12)
        for place in range(4):
            turn(place, 4 + (place + 1) % 4, 8 + (place + 2) % 4, 12 + (place + 3) % 4)
    return [(a + b) % 2**32 for a, b in zip(state, first, strict=True)]


def test_the_cipher_here_is_that_of_the_standard():
    """RFC 8439, appendix A.1, test vector 1: a key, a counter and a nonce of zeros."""
    assert chacha20_block(bytes(32), 0)[:4] == [0xADE0B876, 0x903DF1A0, 0xE56A5D40, 0x28BD8653]


def test_numbers_of_a_secret_are_those_of_chacha20():
    from randomgen import ChaCha

    key = bytes(range(32))
    generator = ChaCha(key=int.from_bytes(key, "little"))
    got = np.random.Generator(generator).integers(0, 2**32, 32, dtype=np.uint32)
    assert got.tolist() == chacha20_block(key, 0) + chacha20_block(key, 1)


def test_streams_differ_and_repeat():
    same = [stream_of(1, SECRET, 21, 0).random(4) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    others = [stream_of(1, SECRET, 21, 1), stream_of(1, SECRET + 1, 21, 0), stream_of(1, None, 21, 0)]
    assert len({tuple(each.random(4)) for each in others} | {tuple(same[0])}) == 4
    assert [is_secret(each) for each in others] == [True, True, False]
    np.testing.assert_array_equal(stream_of(7, None, 2).random(3), np.random.default_rng([7, 2]).random(3))


@pytest.mark.parametrize("epsilon", slow_but([1.0], [0.1, 1.0, 2.3]))
def test_noise_by_whole_numbers_has_the_law(epsilon):
    """Chi-square over the values that are expected ten times or more; seeds are fixed, the level is 1e-4."""
    found = exact_laplace((50, 400), epsilon, stream_of(0, SECRET, 53))
    assert found.shape == (50, 400)
    reach = int(math.log(20_000 / 10) / epsilon)
    k = np.arange(-reach, reach + 1)
    p = np.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(k))
    expected = 20_000 * p
    fine = expected >= 10
    seen = np.array([(found == each).sum() for each in k[fine]])
    rest = 20_000 - seen.sum(), 20_000 - expected[fine].sum()
    assert stats.chisquare([*seen, rest[0]], [*expected[fine], rest[1]]).pvalue > 1e-4


def test_noise_of_counts_in_a_release_is_made_by_whole_numbers(monkeypatch):
    secret = stream_of(0, SECRET, 1)
    monkeypatch.setattr("synth_core.mechanisms.noise.exact_laplace", lambda shape, epsilon, rng: "exact")
    assert laplace((3,), 1.0, secret) == "exact"
    assert laplace((3,), 1.0, np.random.default_rng(1)).shape == (3,)


def test_noise_of_counts_is_made_of_numbers_of_sixty_four_bits():
    """Counts of units are in 2,520ths: a cell of 852,177 stopped a charged release, with the count in its message."""
    counts, noise = np.array([2**31 + 5, 5 * 10**12, 0]), OpendpNoise()
    for noisy in (noise.laplace(counts, 3.0), noise.gaussian(counts, 3.0)):
        assert (np.abs(noisy - counts) < 150).all()
