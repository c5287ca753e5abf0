"""The likelihood that docs/develop/extending.md adds, as its file defines it."""

from tests.conftest import ROOT
from tests.support.documents import blocks

FILE = "synth_core/mechanisms/likelihoods/levelled.py"


def likelihood_of_the_page():
    """The names that the page's file defines, by name."""
    (block,) = (b for b in blocks(ROOT / "docs" / "develop" / "extending.md") if b.file == FILE)
    names = {}
    exec(compile(block.text, FILE, "exec"), names)
    return names
