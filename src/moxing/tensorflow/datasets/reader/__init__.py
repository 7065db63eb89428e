"""Readers of the bytes of files.

``raw_reader``: the readers, at the path that scripts import.
"""
