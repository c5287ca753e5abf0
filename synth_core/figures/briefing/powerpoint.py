"""A briefing as a PowerPoint file whose tables and charts can be edited."""

from __future__ import annotations

import io
import math
from typing import Any

from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION, XL_MARKER_STYLE, XL_TICK_LABEL_POSITION
from pptx.enum.text import PP_ALIGN
from pptx.oxml.ns import qn
from pptx.util import Emu, Inches, Pt

from synth_core.figures.briefing.charts import Chart, Series
from synth_core.figures.briefing.content import Page

WIDTH, HEIGHT = Inches(13.333), Inches(7.5)
LEFT, TOP = Inches(0.6), Inches(1.35)
INNER = Inches(12.13)
_BLANK = 6  # of the default template's layouts
INK, SOFT, MARK = RGBColor(0x1B, 0x24, 0x30), RGBColor(0x55, 0x5F, 0x6D), RGBColor(0xB4, 0x23, 0x18)
BODY, SMALL = Pt(20), Pt(14)
Place = tuple[int, int, int, int]
INTERNAL = "INTERNAL: holds comparisons with confidential values"


def powerpoint(pages: list[Page]) -> bytes:
    """The pages as a file, one slide each.

    Returns
    -------
    bytes
        Of a .pptx file.
    """
    deck: Any = Presentation()
    deck.slide_width, deck.slide_height = WIDTH, HEIGHT
    core = deck.core_properties  # the template's author and dates are nobody's here
    core.author, core.title, core.last_modified_by = "", pages[0].title, ""
    for number, page in enumerate(pages, start=1):
        _draw(deck.slides.add_slide(deck.slide_layouts[_BLANK]), page, f"{number} / {len(pages)}")
    stream = io.BytesIO()
    deck.save(stream)
    return stream.getvalue()


def _draw(slide: Any, page: Page, place: str) -> None:
    title, lines = page.title, page.lines
    if page.chart is not None:
        name = page.title.removesuffix(page.figure["title"]) if page.figure else ""
        title, lines = name + page.chart.title, (page.chart.reading,)
    _text(slide, (title,), (LEFT, Inches(0.45), INNER, Inches(0.8)), Pt(30)).font.bold = True
    foot = Inches(6.95)
    _text(slide, (place,), (LEFT, foot, Inches(1.5), Inches(0.4)), SMALL, SOFT)
    if page.internal:
        mark = _text(slide, (INTERNAL,), (Inches(4), foot, Inches(8.73), Inches(0.4)), SMALL, MARK)
        mark.alignment = PP_ALIGN.RIGHT
    top: int = TOP
    if lines:
        alone = page.chart is None and not page.rows
        height = Inches(4.5) if alone else Inches(0.75)
        _text(slide, lines, (LEFT, top, INNER, height), BODY if alone else Pt(16))
        top += height
    if page.rows:
        _table(slide, page, top)
    elif page.chart is not None:
        _chart(slide, page.chart, top)


def _text(slide: Any, lines: tuple[str, ...], place: Place, size: Pt, color: RGBColor = INK) -> Any:
    """Paragraphs in a box (left, top, width, height); the last one."""
    frame = slide.shapes.add_textbox(*place).text_frame
    frame.word_wrap = True
    for i, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if i == 0 else frame.add_paragraph()
        paragraph.text, paragraph.font.size, paragraph.space_after = line, size, Pt(8)
        paragraph.font.color.rgb = color
    return paragraph


def _table(slide: Any, page: Page, top: int) -> None:
    n_columns = len(page.columns)
    shape = slide.shapes.add_table(
        len(page.rows) + 1, n_columns, LEFT, top, INNER, Inches(0.45) * (len(page.rows) + 1)
    )
    table = shape.table
    # A column as wide as its longest cell asks for, within bounds: sentences get what is left.
    longest = [
        min(max(17, *(len(row[i]) for row in (page.columns, *page.rows))), 60) for i in range(n_columns)
    ]
    for column, length in zip(table.columns, longest, strict=True):
        column.width = Emu(int(INNER * length / sum(longest)))
    for i, row in enumerate((page.columns, *page.rows)):
        for j, value in enumerate(row):
            paragraph = table.cell(i, j).text_frame.paragraphs[0]
            paragraph.text = value
            paragraph.font.size = SMALL
            paragraph.font.bold = i == 0 or j == 0
            if i:
                paragraph.font.color.rgb = INK


def _chart(slide: Any, chart: Chart, top: int) -> None:
    place = (LEFT, top, INNER, Inches(6.85) - top)
    if chart.kind == "curves":
        data = XyChartData()
        for each in chart.series:
            line = data.add_series(each.name)
            for x, y in zip(each.x, each.y, strict=True):
                line.add_data_point(x, y)
        drawn = slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER_LINES_NO_MARKERS, *place, data).chart
    else:
        bars = CategoryChartData()
        bars.categories = chart.categories
        for each in chart.series:
            bars.add_series(each.name, each.y)
        drawn = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, bars).chart
    drawn.font.size = SMALL
    drawn.has_title = False
    drawn.has_legend = len(chart.series) > 1
    if drawn.has_legend:
        drawn.legend.position = XL_LEGEND_POSITION.BOTTOM
        drawn.legend.include_in_layout = False
    _axes(drawn, chart)
    for line, each in zip(drawn.plots[0].series, chart.series, strict=True):
        _colour(line, each, chart.kind)


def _axes(drawn: Any, chart: Chart) -> None:
    for axis, label in ((drawn.category_axis, chart.x_label), (drawn.value_axis, chart.y_label)):
        axis.has_title = bool(label)
        if label:
            axis.axis_title.text_frame.text = label
            axis.axis_title.text_frame.paragraphs[0].font.size = SMALL
    drawn.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW  # below bars that point down
    if chart.kind == "curves":
        drawn.value_axis.minimum_scale, drawn.value_axis.maximum_scale = 0, 1
        drawn.category_axis.has_major_gridlines = False
        if chart.logarithmic:
            scaling = drawn.category_axis._element.find(qn("c:scaling"))
            scaling.insert(0, scaling.makeelement(qn("c:logBase"), {"val": "10"}))
            least = min(x for each in chart.series for x in each.x if x > 0)
            drawn.category_axis.minimum_scale = 10.0 ** math.floor(math.log10(least))
    elif all(value is None or value >= 0 for each in chart.series for value in each.y):
        drawn.value_axis.minimum_scale = 0
    if chart.kind == "bars" and len(chart.series) == 1:  # a small ε beside a large one is no height
        drawn.plots[0].has_data_labels = True
        labels = drawn.plots[0].data_labels
        labels.number_format, labels.number_format_is_linked, labels.font.size = "0.00", False, SMALL


def _colour(line: Any, each: Series, kind: str) -> None:
    colour = RGBColor.from_string(each.color.removeprefix("#").upper())
    if kind == "curves":
        line.format.line.color.rgb = colour
        line.format.line.width = Pt(2.25)
        line.smooth = False
        line.marker.style = XL_MARKER_STYLE.NONE
    else:
        line.format.fill.solid()
        line.format.fill.fore_color.rgb = colour
