"""The page Explore: the map of risk and utility, and inverse tuning."""
