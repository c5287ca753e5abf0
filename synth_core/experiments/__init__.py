"""Many analyses: the map of settings and inverse tuning, Monte Carlo studies, privacy audits.

`papers` holds the published designs and numbers, `designs` our own, both apart from the engine of the `studies`;
`named_studies` has all of them by name. It may import `release` (an audit may be of a release plan) and the rooms
below it.
"""
