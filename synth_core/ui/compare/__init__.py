"""The page Compare: mechanisms and their settings, exact refits, results side by side."""
