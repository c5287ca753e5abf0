"""Bayesian pseudo posterior mechanisms: private synthetic data and what it costs."""
