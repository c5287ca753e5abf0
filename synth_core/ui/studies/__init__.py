"""The page Studies: databases like the analyst's, the papers' studies, and ours."""
