"""Modules of Python 2 that are split or gone today, for the user's own files."""
