"""Modules of Python 2 that Python 3 split or removed, for the user's own files.

``commands``: output of a shell command. ``config_parser``: the module ConfigParser.
``md5``: hashes of bytes or text. ``string_io``: StringIO and cStringIO.
``urllib2``: requests, errors and quoting in one module.
"""
