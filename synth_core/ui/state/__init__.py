"""What a browser has loaded and chosen: one typed, frozen value, and one way to change it."""
