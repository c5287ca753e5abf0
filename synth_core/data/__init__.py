"""A file becomes what a model is given: readers, the checked table, the design matrix; and the examples.

What is wrong with a file is said here in words, once for all pages. It may import `models` (for the records)
and the rooms below it.
"""
