"""A study of seconds, for the tests of engine, backends and command line."""

from synth_core.experiments.studies.study import Case, Study, StudyPoint, example_design

POINTS = (
    StudyPoint("Unweighted", "unweighted"),
    StudyPoint("Weighted", "weighted"),
    StudyPoint("Weighted-e", "weighted_e", {"epsilon": 4.0}),
    StudyPoint("PH", "histogram", {"epsilon": 4.0}),
)


def small(replicates: int = 4, rows: int = 150, draws: int = 200) -> Study:
    settings = {"outcome": "x", "model": "beta", "bounds": (0.0, 1.0), "draws": draws, "warmup": 200}
    case = Case(f"n = {rows}", example_design("beta"), rows, settings, POINTS)
    return Study("small", "A small study", "", (case,), replicates)
