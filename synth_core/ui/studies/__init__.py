"""The page Studies: databases like the analyst's, and the papers' studies."""
