"""How a Python process of a task starts. These modules import almost nothing.

``program``: runs the script as ``__main__``, as ``python script.py`` would.
``activate``: prepares every Python of a task; installs the import hooks.
``finder``: the import hooks: patches modules after import, and serves removed ones.
``own_code``: distinguishes the user's own files from installed packages.
``paths``: maps fixed paths such as ``/cache`` where the kernel offers no private ones.
"""
