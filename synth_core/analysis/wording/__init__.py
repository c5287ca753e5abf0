"""Sentences and headings for readers: what screens, slides, reports and the command line say of mechanisms."""
