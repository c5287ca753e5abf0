"""Many analyses: the map of settings and inverse tuning, Monte Carlo studies, privacy audits, rivals.

`rivals` runs other synthesizers beside ours. This room may import `release` (an audit may be of a release plan) and the
rooms below it. Studies of the papers are in the room `replication`.
"""
