"""Releases of chosen runs: plan, ledger, gate, archives, reports, and the list of finished runs.

A release is charged once, and can be repeated after a crash with the same data set. It may import `analysis`
and the rooms below it.
"""
