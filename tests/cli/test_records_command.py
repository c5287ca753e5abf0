"""`compare` with blocks: one joint row, rows beneath, and one clear line for what cannot be."""

import json

import numpy as np
import pandas as pd
import pytest

from synth_core.cli import main
from synth_core.experiments.explore import search, tuning

QUICK = ["--draws", "1000", "--warmup", "300"]
SEX, WORK = "sex=categorical:categories=f,m", "work=categorical:categories=no,yes:missing=?"
PAY = "pay=lognormal:unit=10:guess=20,1"


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "work": rng.choice(["no", "yes", "?"], 200)})
    frame["pay"], frame["area"] = rng.lognormal(3, 0.4, 200).round(1), rng.choice(["north", "south"], 200)
    pay, row = rng.lognormal(3, 0.4, 200), np.arange(200)
    frame = frame.assign(
        few=np.where(row < 5, pay, np.nan), rest=np.where(row < 5, np.nan, pay), nothing=np.nan
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    return str(tmp_path / "people.csv")


def blocks(*texts):
    return [part for text in texts for part in ("--block", text)]


@pytest.mark.slow
@pytest.mark.stan
def test_a_joint_row_and_one_for_each_block(file, capsys):
    command = ["compare", file, *blocks(SEX, WORK, PAY), "--share", "pay=0.6", "--predictors", "area", *QUICK,
               "--mechanism", "censored", "weighted", "--epsilon", "20"]  # fmt: skip
    assert main([*command, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    censored, weighted = answer["results"]
    assert censored["epsilon"] == pytest.approx(20.0)
    assert [b["name"] for b in censored["blocks"]] == ["sex", "work is missing", "work", "pay"]
    assert [b["epsilon"] for b in censored["blocks"]] == pytest.approx([4.0, 0.8, 3.2, 12.0])
    assert censored["blocks"][3]["conditional_on"] == ["sex", "work"]
    assert "everything sensitive about one record" in censored["covers"]
    measures = weighted["measures"]
    assert 300 < measures["k_marginal"] <= 1000
    assert 0 < measures["sample_share"] <= 1
    assert measures["pmse_ratio"] > 0
    assert weighted["epsilon"] == pytest.approx(2 * weighted["lipschitz_bound"])
    assert weighted["lipschitz_bound"] <= sum(b["lipschitz_bound"] for b in weighted["blocks"]) + 1e-12
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "people.csv: sex, work, pay, 200 records (0 dropped) given area"
    rows = [line.split()[0] for line in lines[2:12]]
    assert rows == ["censored", "sex", "work", "work", "pay", "weighted", "sex", "work", "work", "pay"]
    assert "everything sensitive about one record" in lines[-3]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (blocks(SEX, SEX), "block 'sex' is named twice"),
        (
            blocks(SEX, PAY, SEX),
            "one order, each conditional on those before it",
        ),  # there is no cycle to write
        (blocks("sex=categorical:categories=f,m:earlier=pay", PAY), "'earlier' is no option of a block"),
        (
            blocks(SEX, "few=lognormal"),
            "Only 5 complete rows (195 more have missing values); at least 10 are needed. "
            "Most are missing of: few in 195",
        ),
        (blocks(SEX, "few=lognormal:missing="), "Block 'few': Only 5 complete rows"),
        (blocks("few=lognormal", "rest=lognormal"), "Most are missing of: few in 195, rest in 5"),
        (
            [*blocks("few=lognormal:missing=", SEX), "--predictors", "rest"],
            "Block 'few' has no value in the complete",
        ),
        (blocks(SEX, "nothing=lognormal:missing="), "Column 'nothing' has no values"),
        (
            [*blocks(SEX, PAY), "--share", "sex=0.3", "--share", "pay=0.3"],
            "must sum to 1, and they sum to 0.6",
        ),
        ([*blocks(SEX, PAY), "--share", "sex=1"], "nothing is left for 'pay'"),
        ([*blocks(SEX), "--predictors", "sex"], "'sex' is a sensitive block and a predictor too"),
        (blocks("sex=categorical"), "declare its categories"),
        (blocks("sex"), "written NAME=MODEL"),
        (blocks("sex=categorical:categories=f"), "declare its categories, two or more"),
        (blocks("sex=categorical:categories=f,x"), "none of its 2 declared categories (first in row"),
        (blocks("pay=lognormal:unit=ten"), "Block 'pay': The unit (--unit) must be a"),
        ([*blocks(SEX, PAY), "--share", "sex=0.5", "--share", "pay=0.6"], "must sum to 1"),
        ([*blocks(SEX), "--share", "wage=0.5"], "'wage', which is no block"),
        ([*blocks(SEX), "--share", "sex=half"], "must be a number"),
        ([*blocks(SEX), "--outcome", "pay"], "--outcome is of one sensitive variable"),
        ([*blocks(SEX), "--unit", "3"], "--unit is of one sensitive variable"),
        ([*blocks(SEX), "--mechanism", "histogram"], "about one sensitive variable"),
        (["--share", "sex=1", "--outcome", "pay"], "there are none (--block)"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments, match, file, capsys):
    assert main(["compare", file, *arguments]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert match in line


@pytest.mark.stan
@pytest.mark.long
def test_tuning_of_blocks_divides_epsilon_and_reaches_every_variable(file, capsys, monkeypatch):
    """Few settings and coarse ones are tried: tests/experiments/test_tuning.py searches finely, for one variable."""
    monkeypatch.setattr(tuning, "GRID_STEPS", 4)
    monkeypatch.setattr(
        tuning, "EPSILON_FROM", 4.0
    )  # begun at a twentieth of the largest: below, chains are long
    monkeypatch.setattr(search, "TOLERANCE", 0.3)
    short = ["--chains", "1", "--draws", "1000", "--warmup", "300"]
    asked = ["tune", file, *blocks(SEX, PAY), "--mechanism", "censored", "--target", "ecdf_max<=0.2", *short]
    answers = []
    for more in ([], ["--divide"]):
        assert main([*asked, *more, "--format", "json"]) == 0
        [answer] = json.loads(capsys.readouterr().out)["answers"]
        assert answer["reached"]
        assert answer["share_meeting_target"] >= 0.9
        assert sum(each["epsilon"] for each in answer["blocks"]) == pytest.approx(answer["epsilon"])
        assert all(each["difference"] <= 0.2 for each in answer["blocks"])
        answers.append(answer)
    assert [each["share"] for each in answers[0]["blocks"]] == [0.5, 0.5]
    assert answers[1]["blocks"][0]["share"] != 0.5
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "An error is the largest over the sensitive variables." in out
    assert "pay: ε = " in out


@pytest.mark.slow
@pytest.mark.stan
def test_a_map_of_blocks(file, capsys):
    asked = [
        "map",
        file,
        *blocks(SEX, WORK, PAY),
        "--mechanism",
        "unweighted",
        "weighted",
        "--sweep",
        "scale=0.5:1:2",
    ]
    assert main([*asked, *QUICK, "--format", "json", "--predictive", "30"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [p["mechanism"] for p in points] == ["unweighted", "weighted", "weighted"]
    assert all(p["epsilon"] == pytest.approx(2 * p["lipschitz_bound"]) for p in points)


@pytest.mark.parametrize(
    ("command", "more", "match"),
    [
        ("tune", ["--target", "q90<=0.1"], "No sensitive variable is a number"),
        ("tune", ["--target", "epsilon=3", "--mechanism", "range_averaged"], "about one sensitive variable"),
        ("tune", ["--target", "epsilon=3", "--divide"], "--divide takes two blocks or more"),
        (
            "tune",
            ["--target", "ecdf_max<=0.1", "--divide", "--mechanism", "weighted"],
            "measured and not set",
        ),
        ("map", ["--rival", "sample", "--edges", "0,1,2"], "each number's bins are declared in its block"),
        ("map", ["--rival", "nobody"], "There is no rival 'nobody'; there are: mst, aim, histogram, one-way"),
        ("map", ["--measure", "q90"], "No sensitive variable is a number"),
    ],
)
def test_what_map_and_tune_do_not_take_with_blocks(command, more, match, file, capsys):
    assert main([command, file, *blocks(SEX, "area=categorical:categories=north,south"), *more]) == 2
    assert match in capsys.readouterr().err.splitlines()[-1]


def test_shares_in_the_block_and_without_blocks(file, capsys):
    assert main(["map", file, "--outcome", "pay", "--share", "pay=1"]) == 2
    assert "there are none (--block)" in capsys.readouterr().err
    assert main(["compare", file, *blocks(f"{SEX}:share=0.3", f"{PAY}:share=0.3")]) == 2
    assert "they sum to 0.6" in capsys.readouterr().err


def test_a_rule_that_no_record_meets_is_said(file, capsys):
    """A misspelt value kept nothing out, without a word."""
    asked = ["compare", file, "--block", SEX, "--predictors", "area", "--mechanism", "measured", "--rule"]
    for area, said in (("north", False), ("nort", True)):
        main([*asked, f"area = {area} -> sex = f or m"])
        assert (f"! no record meets the condition of area = {area}" in capsys.readouterr().err) == said


@pytest.mark.slow
@pytest.mark.stan
def test_a_single_block_is_an_outcome(file, capsys):
    answers = []
    for named in (
        ["--block", "pay=lognormal:bounds=0,200"],
        ["--outcome", "pay", "--model", "lognormal", "--bounds", "0", "200"],
    ):
        asked = [
            "tune",
            file,
            *named,
            "--mechanism",
            "histogram",
            "weighted",
            "--target",
            "epsilon=3",
            *QUICK,
        ]
        assert main([*asked, "--format", "json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert all(each["reached"] for each in answers[0]["answers"])


@pytest.mark.slow
def test_a_predictor_that_tells_a_sensitive_value_is_named(tmp_path, capsys):
    """It is released as it is: who sees the band or the logarithm needs no synthetic pay."""
    pay = np.random.default_rng(4).lognormal(8, 0.5, 200).round(2)
    frame = pd.DataFrame({"pay": pay, "log": np.log(pay), "band": np.where(pay > 3000, "high", "low")})
    frame["sex"] = np.where(np.arange(200) % 3 == 0, "m", "f")
    frame.to_csv(tmp_path / "pay.csv", index=False)
    run = [
        "compare",
        str(tmp_path / "pay.csv"),
        "--mechanism",
        "unweighted",
        *QUICK,
        "--predictors",
        "log",
        "band",
        "sex",
    ]
    for of in (
        ["--outcome", "pay", "--model", "lognormal"],
        blocks("pay=lognormal", "sex=categorical:categories=f,m"),
    ):
        assert main([*run[: None if "--outcome" in of else -1], *of]) == 0
        err = capsys.readouterr().err
        assert "! predictor 'log' tells 'pay' exactly or nearly" in err
        assert (
            "! predictor 'band' tells within which range each value of 'pay' lies" in err
            and "'sex'" not in err
        )
