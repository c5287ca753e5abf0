"""The ledger: what every confidential table was charged, append-only, chained, limited."""
