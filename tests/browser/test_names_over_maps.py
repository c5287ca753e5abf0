"""Names over maps side by side do not lie over each other, however narrow the window."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

BOARD = Path("synth_core/ui/shared/board.js")


@pytest.mark.parametrize(("width", "lines"), [(1000, 1), (340, 2), (270, 3)])
def test_names_stand_in_as_many_lines_as_keep_neighbours_apart(chromium, width, lines):
    """On a phone each was written over the next one."""
    names = [{"text": text, "font": {"size": 10}} for text in ("Unweighted", "Censored-weighted", "Anchored")]
    layout = {"annotations": names, "margin": {"l": 56, "r": 14, "t": 34}, "font": {"size": 12}}
    page = chromium.new_page()
    made = page.evaluate(
        """async ([code, layout, width]) => {
        const board = await import('data:text/javascript,' + encodeURIComponent(code + 'export { staggered };'));
        return board.staggered(layout, width); }""",
        [BOARD.read_text(encoding="utf-8"), layout, width],
    )
    page.close()
    heights = [name.get("yshift", 0) for name in made["annotations"]]
    assert len(set(heights)) == lines
    assert made["margin"]["t"] == 34 + max(heights)
