"""Files that a release brings to its users: they stand alone, and this program imports none of them."""
