"""Benchmarks: fixed seeds, a naive baseline beside every fast path, the result asserted too."""
