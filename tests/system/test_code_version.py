"""Which edits discard cached fits: those of what is computed, not those of words, figures and reports."""

import ast
import shutil

import pytest

from synth_core.system.code_version import PACKAGE, code_version, without_words

WEIGHTS = "synth_core/mechanisms/weights.py"


@pytest.fixture
def project(tmp_path):
    """A copy of the code and of the Stan programs, to be edited."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("synth_core", "stan"):
        shutil.copytree(PACKAGE.parent / name, tmp_path / name, ignore=ignored)
    return tmp_path


def version(project, *more):
    return code_version.__wrapped__(*more, package=project / "synth_core")


def edit(project, file, old, new):
    path = project / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_copy_has_the_same_version(project):
    assert version(project) == code_version()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (WEIGHTS, "A record with a non-finite bound gets weight 0.", "It gets weight 0."),
        (WEIGHTS, "# a tiny bound: the weight is 1 then", "# the weight is 1"),
        (WEIGHTS, "def truncate(", "# the second adjustment\n\n\ndef truncate("),
        ("synth_core/figures/utility.py", "import", "import abc\nimport"),
        ("synth_core/release/report/report.py", "import", "import abc\nimport"),
        ("synth_core/replication/ppm.py", "import", "import abc\nimport"),
        ("synth_core/system/files.py", "import", "import abc\nimport"),
    ],
)
def test_words_figures_and_reports_keep_it(project, file, old, new):
    edit(project, file, old, new)
    assert version(project) == code_version()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (WEIGHTS, "over = weights * max_abs_log_lik > bound", "over = weights * max_abs_log_lik >= bound"),
        ("synth_core/analysis/utility.py", "BOOTSTRAP_DRAWS = 500", "BOOTSTRAP_DRAWS = 501"),
        ("stan/mixture.stan", "model {", "model { // edited"),
        ("stan/functions/censoring.stan", "real", " real"),
    ],
)
def test_what_is_computed_changes_it(project, file, old, new):
    edit(project, file, old, new)
    assert version(project) != code_version()


def test_experiments_have_versions_of_their_own(project):
    edit(project, "synth_core/experiments/audit/lower_bound.py", "THRESHOLDS = 400", "THRESHOLDS = 40")
    assert version(project) == code_version()
    assert version(project, "experiments/audit") != code_version("experiments/audit")
    assert code_version("experiments/audit") != code_version()


@pytest.mark.slow
def test_without_words_every_file_computes_the_same():
    def plain(source):
        tree = ast.parse(source)
        for node in ast.walk(tree):
            match node:
                case ast.Expr(ast.Constant(str()) as text):
                    text.value = ""
        return ast.dump(tree)

    for path in PACKAGE.rglob("*.py"):
        source = path.read_text()
        assert plain(without_words(source)) == plain(source), path
