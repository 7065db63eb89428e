"""Algorithms and data sets: defined once, used by many jobs.

``definitions``: create, list and remove them; fill in a request that names them.
``algorithms``: reads an algorithm, and makes a request from it.
"""
