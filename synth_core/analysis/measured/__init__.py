"""Measured synthesis: noisy tables of counts, a log-linear model of them, and records drawn from it.

Nothing behind the noise reads a record (docs/methods/measured.md).
"""
