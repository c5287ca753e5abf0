"""The page Data: table, variables, model."""
