"""A quarter of a minute of what `python -m tests.faults soak --minutes 30 --browsers 4` does for long."""

import pytest

from tests.browser.conftest import CHROMIUM
from tests.faults.soak import Report, soak

pytestmark = [pytest.mark.browser, pytest.mark.stan]


@pytest.mark.long
def test_random_use_leaves_nothing_behind():
    if CHROMIUM is None:
        pytest.skip("Chromium not found: random use not tried. sudo apt-get install -y chromium")
    report = soak(0.2, 1, 5, lambda line: None)
    assert not report.problems(), report.text()
    assert report.actions.total() + report.missed.total() > 0, report.text()


def test_what_a_report_complains_of():
    """Growth is between means of minutes, and nothing that was seen is left out."""
    report = Report(minutes=30.0)
    report.memory = [(float(m), 300 * 1024**2, 0) for m in range(27)]
    report.memory += [(float(m), 345 * 1024**2, 0) for m in range(27, 31)]
    assert report.problems() == ["the server grew by 15%"]
    report.memory = [(float(m), 300 * 1024**2 + m * 1024**2, 0) for m in range(31)]
    assert 0.07 < report.growth() < 0.08
    report.orphans, report.errors = ["process 7 beta"], ["console: a"]
    assert report.problems() == ["console: a", "left: process 7 beta"]
    assert "actions 0" in report.text()
