"""One table under one set of settings: cached fits, weights, one mechanism's result, its utility.

`analysis` is the way in, `settings` is what an analyst chooses, `result` is what comes out. It may import
`data` and the rooms below it.
"""
