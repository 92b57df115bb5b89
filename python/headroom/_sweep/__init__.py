"""Grids of simulations: sweep.py is the way in, a run's life is grid.py, run.py, workers.py, parts.py,
result.py."""
