"""Whole records beside other synthesizers: the same records, predictors and privacy budget, the same measures.

`cells` cuts variables into declared cells, `budget` says what epsilon means for both sides, `problem` is what a rival
is given, `graphical` (AIM and MST of opendp, optional) and `simple` are the rivals, `study` runs all of them, `report`
shows what was found. It imports `analysis.records` and what is below; opendp's extra is imported in `graphical` alone.
"""
