"""Kill, fill, lock, corrupt, remove: nothing that was finished is lost, nothing wrong is shown.

`python -m tests.faults` runs all of it over and over and prints a log; a few cases run by default.
"""

import pytest

from tests.faults.cases import CASES
from tests.faults.scene import Scene

pytestmark = pytest.mark.stan


def marks_of(case):
    return () if case.quick else pytest.mark.long if case.by_hand else pytest.mark.slow


@pytest.mark.parametrize("case", [pytest.param(c, marks=marks_of(c), id=c.name) for c in CASES])
def test_a_fault(case, tmp_path):
    scene = Scene(tmp_path, 20261121)
    case.run(scene)
    assert scene.log.struck
