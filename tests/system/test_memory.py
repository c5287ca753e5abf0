"""A large table that was left does not stay in the server's memory."""

import subprocess

import pytest

from tests.conftest import PYTHON, ROOT

CODE = """
import numpy as np, pandas as pd, psutil
from synth_core.data.read_apart import Reading
from synth_core.system.memory import give_back

def held():
    return psutil.Process().memory_info().rss / 1024**2

x = np.random.default_rng(1).normal(size=(400_000, 4)).round(6)
content = pd.DataFrame(x, columns=list("abcd")).to_csv(index=False).encode()
del x
give_back()
start = held()
for _ in range(3):
    table = Reading(content, "t.csv", abandoned_after=300).table()
    table.fingerprint, table.columns
    most = held()
    del table
give_back()
print(start, most, held())
"""


@pytest.mark.slow
def test_what_a_table_held_is_given_back():
    done = subprocess.run([PYTHON, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=True)
    start, most, left = map(float, done.stdout.split())
    assert most - start > 12  # the table alone
    assert left - start < 0.25 * (most - start), done.stdout  # half to all of it where nothing is given back
