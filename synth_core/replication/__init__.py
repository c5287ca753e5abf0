"""The papers' studies and our own: designs, published numbers, and how ours compare. `named_studies` lists them.

Nothing else needs this room: it may import `experiments` and the rooms below it.
"""
