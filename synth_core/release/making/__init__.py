"""One release from reservation to commit; killed anywhere, it can be repeated and is charged once."""
