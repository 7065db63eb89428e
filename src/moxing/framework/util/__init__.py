"""Small functions that scripts import from MoXing.

``compat``: text to bytes and back. ``runtime``: the log level of MoXing.
"""
