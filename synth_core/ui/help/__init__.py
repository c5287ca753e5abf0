"""The page Help: guide, glossary, methods, and an analyst's Stan program as a model."""
