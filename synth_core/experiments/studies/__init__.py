"""Monte Carlo studies: many simulated tables, mechanisms run on each, published numbers beside ours."""
