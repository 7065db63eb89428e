"""ps and workers: ``cluster.py`` is the way in."""
