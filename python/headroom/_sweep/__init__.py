"""Grids of simulations. sweep.py is the way in; grid.py reads and checks the input, run.py is what a
worker does, workers.py who does it and connection.py their Ray, parts.py keeps what is done, result.py
makes the tables; command.py and config.py are python -m headroom.sweep."""
