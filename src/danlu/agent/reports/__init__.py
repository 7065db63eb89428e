"""Threads and processes that report what a script does while it runs.

``log_capture``: copies the output of the script to the log, without secrets.
``progress``: phases, transfers, training steps, the translation report; starts the curve reader.
``curves``: the curve reader, a process of its own, because it imports NumPy.
``hang_detector``: detects a script without steps, output, CPU time or I/O.
"""
