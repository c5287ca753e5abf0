"""The map of settings: points with Monte Carlo bands, sweeps, the frontier, inverse tuning."""
