"""What stands out in a synthetic table beside the confidential one: variables, groups, combinations.

`unlikely` finds pairs of values that hardly a confidential record has, `table_check` puts all three together, `words`
says them. Everything here is computed from the confidential table and is confidential.
"""
