"""The public and the internal report of a release."""
