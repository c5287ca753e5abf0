"""The page Robustness: databases like the analyst's, the papers' studies and ours, the privacy audit."""
