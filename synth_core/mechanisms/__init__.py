"""The mechanisms as formulas: which exist, what each promises, its weights, its bounds.

Arrays in, arrays out: no table, no model, no Stan. It may import `system` and `errors`.
"""
