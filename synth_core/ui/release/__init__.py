"""The page Release: plan, table, gate, archives, ledger."""
