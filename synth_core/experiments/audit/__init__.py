"""Privacy audits: what many runs on neighbouring tables show, beside what is claimed."""
