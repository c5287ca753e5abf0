"""Many analyses: the map of settings and inverse tuning, Monte Carlo studies, privacy audits, rivals.

`papers` holds the published designs and numbers, `designs` our own, both apart from the engine of the `studies`;
`named_studies` has all of them by name. `rivals` runs other synthesizers beside ours. It may import
`release` (an audit may be of a release plan) and the rooms below it.
"""
