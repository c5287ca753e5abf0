"""How many of 100 intervals from a synthetic file hold what is true, by class of estimates."""

from __future__ import annotations

from synth_core.analysis.combining import RULES
from synth_core.experiments.studies.covered import Covered
from synth_core.figures.palette import color
from synth_core.figures.parts import FAINT, Figure, axis, figure, legend_above, scatter, shown, table
from synth_core.system.number_text import signed

OTHER_RULES = [rule for rule in RULES if rule != "u"]
LINE = 18  # pixels of a mechanism's dots: closer ones lie in each other
NONE = "–"  # of a rule that is not known, or cannot be used
BAND = (93, 97)  # what is called right, in 100 intervals


def coverage_figure(covered: list[Covered]) -> Figure:
    """A row a class of estimates: a dot a mechanism by its rule, a ring for intervals as software gives them."""
    titles = list(dict.fromkeys(each.title for each in covered))[::-1]  # plotly counts from below
    points = list(dict.fromkeys(each.where for each in covered))
    traces, rows = [], []
    for place, where in enumerate(points):
        mine = [each for each in covered if each.where == where]
        shift = 0.8 * (0.5 - (place + 0.5) / len(points))
        at = [titles.index(each.title) + shift for each in mine]
        look = color(mine[0].mechanism)
        for rule, symbol in (("u", "circle-open"), (mine[0].rule, "circle")):
            if rule == "u" and symbol == "circle" and not mine[0].known:
                continue  # what software gives is all that is known: the ring
            held = [100 * each.held[rule] for each in mine]
            errors = [200 * each.errors[rule] for each in mine]
            hover = [
                shown(f"{where}, {rule}: {h:.0f} ± {e:.0f} of 100 for {each.title.lower()}")
                for h, e, each in zip(held, errors, mine, strict=True)
            ]
            named = symbol == "circle" or not mine[0].known
            traces.append(
                scatter(
                    held,
                    at,
                    "markers",
                    hover,
                    marker={"color": look, "size": 10, "symbol": symbol},
                    error_x={"type": "data", "array": errors, "color": look, "thickness": 1.2, "width": 4},
                    name=f"{shown(where)}, {rule}",
                    showlegend=named,
                )
            )
        rows += [
            [
                each.title,
                where,
                *_cells(each),
                f"{each.factor:.2f}",
                f"{100 * each.with_factor:.0f}",
                signed(each.bias, 2),
                f"{100 * each.own:.0f}",
                *(f"{100 * each.held[rule]:.0f}" if rule in each.held else NONE for rule in OTHER_RULES),
            ]
            for each in mine
        ]
    ring = {"symbol": "circle-open", "size": 10, "color": "#888888"}
    traces.append(
        scatter([None], [None], "markers", marker=ring, name="u: as software gives them", showlegend=True)
    )
    band = {
        "type": "rect",
        "x0": BAND[0],
        "x1": BAND[1],
        "y0": -0.5,
        "y1": len(titles) - 0.5,
        "fillcolor": FAINT,
        "line": {"width": 0},
        "layer": "below",
    }
    made = figure(
        "coverage",
        "Intervals: how many of 100 hold what is true",
        "95 are promised; the band is 93 to 97. A filled dot is the mechanism's combining rule, a ring what software "
        "gives; bars are two Monte Carlo errors.",
        traces,
        {
            "xaxis": axis("Intervals at 95 % that hold what is true, of 100", range=[0, 103]),
            "yaxis": axis(
                "", tickvals=list(range(len(titles))), ticktext=titles, range=[-0.55, len(titles) - 0.45]
            ),
            "shapes": [band],
            **legend_above(),
        },
        table(
            [
                "Estimates",
                "Mechanism",
                "As software gives them",
                "By its rule",
                "Rule",
                "Errors × software's",
                "With that factor",
                "Bias, in standard errors",
                "Confidential table",
                *OTHER_RULES,
            ],
            rows,
        ),
        "; ".join(
            f"{row[1]}, {row[0].lower()}: {row[2] if row[3] == NONE else row[3]} of 100" for row in rows[:8]
        ),
    )
    return made | {"height": 130 + LINE * len(titles) * len(points)}


def _cells(each: Covered) -> list[str]:
    held = {rule: f"{100 * share:.0f}" for rule, share in each.held.items()}
    return [
        held["u"],
        held[each.rule] if each.known else NONE,
        each.rule if each.known else "none known",
    ]
