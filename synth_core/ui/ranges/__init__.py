"""The page Sensitive ranges: which interval around a value is protected."""
