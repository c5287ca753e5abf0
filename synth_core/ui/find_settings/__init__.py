"""The page Find settings: a goal and its answer, and the map of risk and utility."""
