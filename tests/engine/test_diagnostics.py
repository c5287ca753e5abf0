"""What a fit is refused for must not read as if it were allowed."""

from synth_core.engine.sampling import Diagnostics


def test_a_number_beyond_its_limit_is_shown_beyond_it():
    words = "; ".join(Diagnostics(1.0103, 199.8, 900.0, 0, 2, 2000).problems)
    assert "R-hat is 1.011 (at most 1.01 is asked)" in words
    assert "effective sample size is 199 (at least 200 is asked)" in words
    assert Diagnostics(1.01, 200.0, 200.0, 0, 2, 2000).problems == ()
    assert "R-hat is nan" in Diagnostics(float("nan"), 900.0, 900.0, 0, 2, 2000).problems[0]
