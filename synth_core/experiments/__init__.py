"""Many analyses: the map of settings and inverse tuning, Monte Carlo studies, privacy audits.

`papers` holds the published designs and numbers, apart from the engine of the studies. It may import
`release` (an audit may be of a release plan) and the rooms below it.
"""
