"""The page Model check: whether the model fits."""
