"""Whole records: several sensitive variables, each conditional on those before it, released with one epsilon.

A block is a sensitive variable with its family. `blocks` says what is fitted, `table` makes the table that fits read,
`surrogate` what anchors are simulated on, `records` runs a mechanism on all blocks. Discretised tables are compared by
`measures`, numbers by `numbers`; `disclosure` is what an intruder learns.
"""
