"""The page Own program: an analyst's Stan program as a model."""
