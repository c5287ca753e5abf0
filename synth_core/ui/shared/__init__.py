"""What several pages use: controls, the board of figures, waiting for jobs, presets, the tour."""
