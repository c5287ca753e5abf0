"""From a chosen run to a release that survives audit: plan, gate, ledger, bundle, report."""
