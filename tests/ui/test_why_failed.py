"""The line above the picture says of which choices a result is missing, and why where no row can."""

from types import SimpleNamespace

import pytest

from synth_core.ui.shared.refits import _why_failed

NEEDS = "It needs bounds."


def job(mechanism, error=""):
    return SimpleNamespace(
        task=SimpleNamespace(mechanism=mechanism), error=error, state="failed" if error else "done"
    )


@pytest.mark.parametrize(
    ("jobs", "others", "said"),
    [
        ([job("weighted", NEEDS)], [], NEEDS),
        ([job("weighted", NEEDS), job("censored")], [], "No result: Weighted. Its row below says why."),
        (
            [job("weighted", NEEDS), job("censored", "Another.")],
            [],
            "No result: Weighted, Censored. Each row below says why.",
        ),
        # All rows had numbers, and "each row below" was said to tell why there are none.
        (
            [job("weighted"), job("censored")],
            [job("weighted", NEEDS), job("censored", NEEDS)],
            f"No result under A: Weighted, Censored. {NEEDS}",
        ),
        (
            [job("weighted"), job("censored", "Another.")],
            [job("histogram", NEEDS)],
            f"No result: Censored. Its row below says why. No result under A: Histogram. {NEEDS}",
        ),
    ],
)
def test_a_failure_of_what_is_beside_is_not_one_of_the_rows(jobs, others, said):
    assert _why_failed(jobs, others, "A") == said
