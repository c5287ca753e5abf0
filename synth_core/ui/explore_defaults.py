"""What the page Explore starts from: forty points on the first example."""

from __future__ import annotations

from typing import Any

EXPLORE_DEFAULTS: dict[str, Any] = {
    "explore_mechanisms": ["unweighted", "weighted", "exponential", "count_weighted"],
    "explore_swept": ["scale", "epsilon"],
    "explore_scale": [0.1, 2.0, 13],  # from, to, steps
    "explore_shift": [0.0, 0.3, 4],
    "explore_epsilon": [1.0, 20.0, 13],
    "explore_radius": [0.1, 0.5, 3],
    "explore_range_a": [0.2, 0.8, 3],
    "explore_range_b": [1.2, 2.4, 3],
    "explore_measure": "ecdf_max",
    "explore_percentile": 90,
    "explore_question": "accuracy",
    "explore_difference": 0.05,
    "explore_squared": 0.001,
    "explore_percent": 5.0,
    "explore_share": 90,
    "explore_target": 4.0,
    "explore_same": None,
}
