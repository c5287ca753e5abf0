"""The list of words: every term behind it is in the glossary, and every mechanism has plain words."""

import re

import pytest

from synth_core.analysis.wording.headings import (
    ADJUSTMENTS,
    CATEGORY_FIGURES,
    COLUMNS,
    FIGURES,
    RECORD_COLUMNS,
    RECORD_FIGURES,
    in_plain_words,
)
from synth_core.mechanisms import catalogue
from synth_core.mechanisms.catalogue import MECHANISMS
from synth_core.mechanisms.likelihoods import LIKELIHOODS, PLAIN
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.mechanisms.standards import STANDARDS, WHOLE
from tests.support.documents import DOCS

ENTRIES = set(re.findall(r"^- \*\*(.+?)\*\*", (DOCS / "guide/glossary.md").read_text(encoding="utf-8"), re.M))


ALL = (COLUMNS, FIGURES, CATEGORY_FIGURES, RECORD_COLUMNS, RECORD_FIGURES)


@pytest.mark.parametrize(
    "word", [word for words in ALL for word in words.values()], ids=lambda word: word.plain
)
def test_the_term_is_in_the_glossary(word):
    assert word.term in ENTRIES


def test_what_is_only_for_statisticians_is_among_the_details():
    first = " ".join(word.plain for word in COLUMNS.values() if not word.detail)
    assert not re.search("Δ|nats|ECDF|R-hat", first)
    assert not re.search("Δ|nats|ECDF|R-hat|Lipschitz", " ".join(word.plain for word in FIGURES.values()))


def test_nats_are_explained_where_a_page_first_has_them():
    for word in (COLUMNS["delta"], RECORD_COLUMNS["delta"], FIGURES["bounds"]):
        assert "nats: natural logarithms" in word.about, word


def test_every_part_of_a_mechanism_has_words():
    assert ADJUSTMENTS.keys() == catalogue.ADJUSTMENTS.keys()
    assert all(likelihood.plain for likelihood in LIKELIHOODS.values() if likelihood is not PLAIN)
    assert all(standard.plain for standard in STANDARDS.values() if standard is not WHOLE)
    assert all(scheme.plain for scheme in SCHEMES.values())


def test_nothing_is_promised_under_the_words_not_promised():
    """And what rests on a draw is promised of an exact one."""
    for mechanism in MECHANISMS.values():
        for weights in ("current", "frozen", "closed"):
            guarantee = mechanism.guarantee(weights)
            said = re.search(r"It (covers|holds for|is about|rests on)|Only for|gives", guarantee.limits)
            assert said is None, (guarantee.key, said)
            if guarantee.label == "ε-DP" and mechanism.likelihood.samples:
                assert guarantee.promise.startswith("For an exact draw"), guarantee.key


def test_no_two_mechanisms_of_the_papers_say_the_same():
    said = [in_plain_words(mechanism) for mechanism in MECHANISMS.values()]
    assert len(set(said)) == len(said)
    assert all(said)
