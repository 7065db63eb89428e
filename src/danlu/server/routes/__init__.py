"""The routes below ``/v1``. Each calls the service and formats the result.

``jobs``: submit, list, show, wait, stop, remove, rerun, restore; logs, curves and translation.
``files``: files that a job leaves. ``code``: code archives by content hash.
``definitions``: algorithms and data sets. ``server``: version, capacity and shutdown.
"""
