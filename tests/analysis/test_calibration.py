"""Calibrated weights against iterative proportional fitting and a general optimiser; what cannot be met is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from synth_core.analysis import calibration
from synth_core.analysis.calibration import Margin, calibrated
from synth_core.cli import main
from synth_core.errors import InputError

RNG = np.random.default_rng(1)
N = 60
SEX, AGE, PAY = RNG.integers(0, 2, N), RNG.integers(0, 3, N), RNG.lognormal(3, 0.6, N).round(1)
W = RNG.uniform(1, 9, N).round(2)


def of(column, totals):
    return tuple(Margin(f"{k}", (column == k).astype(float), total) for k, total in enumerate(totals))


def fitted_in_turn(weights, margins):
    """Iterative proportional fitting, the naive form."""
    found = weights.copy()
    for _ in range(2000):
        for each in margins:
            at = each.values == 1
            found[at] *= each.total / found[at].sum()
    return found


def test_raking_is_proportional_fitting():
    margins = of(SEX, (140.0, 190.0)) + of(AGE, (90.0, 100.0, 140.0))  # one of five follows from the others
    found = calibrated(W, margins)
    np.testing.assert_allclose(found.weights, fitted_in_turn(W, margins), rtol=1e-6)
    assert found.least == pytest.approx((found.weights / W).min())
    assert found.effective == pytest.approx(found.weights.sum() ** 2 / (found.weights**2).sum())


def test_a_sum_is_met_with_the_least_relative_entropy():
    margins = (*of(SEX, (140.0, 190.0)), Margin("pay", PAY, 9000.0))
    found = calibrated(W, margins).weights
    columns = np.column_stack([each.values for each in margins])
    np.testing.assert_allclose(found @ columns, [140, 190, 9000], rtol=1e-8)
    best = minimize(
        lambda v: float((v * np.log(v / W) - v + W).sum()),
        W,
        jac=lambda v: np.log(v / W),
        bounds=[(1e-9, None)] * N,
        constraints={
            "type": "eq",
            "fun": lambda v: v @ columns - [140, 190, 9000],
            "jac": lambda v: columns.T,
        },
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    np.testing.assert_allclose(found, best.x, rtol=1e-3)


def test_totals_that_are_far_but_possible_are_met():
    """A ratio of sums next to the smallest that any record has."""
    age = RNG.integers(20, 65, N).astype(float)
    ratio = 1.3 * (PAY / age).min()
    margins = (Margin("pay", PAY, 30_000 * ratio), Margin("age", age, 30_000.0))
    found = calibrated(W, margins).weights
    np.testing.assert_allclose([found @ PAY, found @ age], [30_000 * ratio, 30_000], rtol=1e-6)
    assert (found > 0).all()


def test_totals_that_are_possible_are_not_called_impossible(monkeypatch):
    monkeypatch.setattr(calibration, "STEPS", 1)
    with pytest.raises(InputError, match="were not reached, though some weights of 0 or more have them"):
        calibrated(W, (Margin("all", np.ones(N), 300.0), Margin("pay", PAY, 310 * PAY.min())))


def test_totals_that_are_met_already_move_nothing():
    margins = of(SEX, tuple(W[k == SEX].sum() for k in (0, 1)))
    np.testing.assert_allclose(calibrated(W, margins).weights, W)


@pytest.mark.parametrize(
    ("margins", "why"),
    [
        (of(SEX, (140.0, 190.0)) + of(AGE, (90.0, 100.0, 150.0)), "they contradict each other"),
        ((Margin("pay", PAY, -5.0),), "No positive weights"),
        ((Margin("sex = 7", (SEX == 7).astype(float), 5.0),), "No record of the file has sex = 7"),
        ((*of(SEX, (140.0, 190.0)), Margin("pay", PAY, 330 * PAY.max() + 1)), "No positive weights"),
    ],
)
def test_what_no_positive_weights_have_is_refused(margins, why):
    with pytest.raises(InputError, match=why):
        calibrated(W, margins)


def test_a_released_file_is_calibrated_from_the_command_line(tmp_path, capsys):
    data, totals, out = (tmp_path / name for name in ("data.csv", "totals.csv", "out.csv"))
    pd.DataFrame({"sex": SEX, "pay": PAY, "w": W}).to_csv(data, index=False)
    totals.write_text("column,value,total\nsex,0,140\nsex,1,190\npay,,9000\n")
    given = ["calibrate", str(data), "--weight", "w", "--totals", str(totals), "--published"]
    assert main([*given, "table B1", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "3 totals, published in: table B1" in said and "no ε is charged" in said
    found = pd.read_csv(out)
    assert list(found) == ["sex", "pay", "w", "w_calibrated"]
    assert found.groupby("sex")["w_calibrated"].sum().tolist() == pytest.approx([140, 190])
    assert (found["w_calibrated"] * found["pay"]).sum() == pytest.approx(9000)
    assert main([given[0], str(out), *given[2:], "table B1"]) == 2  # nothing is written over
    assert "has a column 'w_calibrated' already" in capsys.readouterr().err
    for content, why in (
        ("column,total\nsex,140\n", "has the columns column, value, total"),
        ("column,value,total\nsex,0,many\nsex,1,190\n", "Line 2 of the totals needs a column and a number"),
        ("column,value,total\nsex,0,140\nsex,0,150\n", "a total twice"),
        ("column,value,total\nage,0,140\nsex,0,150\n", "age"),
    ):
        totals.write_text(content)
        assert main([*given, "table B1"]) == 2
        assert why in capsys.readouterr().err
    assert main([*given, " "]) == 2
    assert "only public totals cost no ε" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "value", "moved"),
    [
        (["10.1;2,5", "10.10;1,5"] * 20, "10.1", 20),  # two codes, where a codebook says so
        (["01;2,5", "02;1,5"] * 20, "01", 20),
        (["1.0;2,5", "2.0;1,5"] * 20, "1", 20),
        (["TRUE;2,5", "NA;1,5"] * 20, "NA", 20),
    ],
)
def test_a_total_is_of_the_code_that_it_names_and_weights_keep_their_decimal_sign(
    rows, value, moved, tmp_path, capsys
):
    """The total of 10.1 was of 10.10 too, 01 was called 1, and the new weights had a point beside commas."""
    data, totals, book, out = (tmp_path / name for name in ("d.csv", "t.csv", "b.csv", "o.csv"))
    data.write_text("\n".join(["code;w", *rows, ""]))
    totals.write_text(f"column,value,total\ncode,{value},90\n")
    book.write_text('column,kind,decimal\ncode,category,\nw,number,","\n')
    given = ["calibrate", str(data), "--weight", "w", "--totals", str(totals), "--published", "here"]
    assert main([*given, "--codebook", str(book), "--out", str(out)]) == 0
    assert f"code = {value}: " in capsys.readouterr().out
    found = pd.read_csv(out, dtype={"code": str}, decimal=",", keep_default_na=False)
    assert found["w_calibrated"].dtype == float and len(found) == 40
    assert found.loc[~np.isclose(found["w"], found["w_calibrated"]), "code"].nunique() == 1
    assert (found["w"] != found["w_calibrated"]).sum() == moved


def test_totals_of_millions_are_said_with_all_of_their_digits(tmp_path, capsys):
    """A population of 6,902,149 stood there as 6.90215e+06."""
    weights = np.where(SEX == 1, 115_000.0, 116_000.0)
    pd.DataFrame({"sex": SEX, "w": weights}).to_csv(tmp_path / "file.csv", index=False)
    (tmp_path / "totals.csv").write_text("column,value,total\nsex,0,3345678\nsex,1,3556471\n")
    assert main(["calibrate", str(tmp_path / "file.csv"), "--weight", "w", "--totals", str(tmp_path / "totals.csv"),
                 "--published", "table B1"]) == 0  # fmt: skip
    said = capsys.readouterr().out
    for code, total in ((0, 3_345_678), (1, 3_556_471)):
        assert f"sex = {code}: {weights[code == SEX].sum():,.0f} " in said and f"now {total:,}" in said
    moved = [total / weights[code == SEX].sum() for code, total in ((0, 3_345_678), (1, 3_556_471))]
    least, most = map(float, said.split("multiplied by ")[1].split(";")[0].split(" to "))
    assert 0 <= min(moved) - least < 1e-3 and 0 <= most - max(moved) < 1e-3
