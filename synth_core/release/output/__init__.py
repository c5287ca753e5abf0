"""What leaves the agency, and what is checked before it does: data sets, gate, bundle."""
