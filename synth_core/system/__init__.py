"""Files, locks, cache, limits, temporary files and worker processes: what any program of this kind needs.

Nothing here knows what a mechanism is. It may import `errors` only.
"""
