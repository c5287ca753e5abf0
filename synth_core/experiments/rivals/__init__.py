"""Other synthesizers beside ours: the same records, predictors and privacy budget, the same measures.

`cells` cuts variables into declared cells, `budget` says what epsilon means for both sides, `problem` is what a rival
is given, `graphical` (AIM and MST of opendp, optional) and `simple` are the rivals, `registry` names them, `apart` runs
slow ones in a process of their own. Of whole records `study` runs all of them and `report` shows what was found. Of one
variable `declared` finds the cells, `beside` measures single runs and `bands` sets them beside the map. It imports
`experiments.explore`, `analysis.records` and what is below; opendp's extra is imported in `graphical` alone.
"""
