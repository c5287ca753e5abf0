"""The plan: everything that is decided before the table to be released is looked at."""
