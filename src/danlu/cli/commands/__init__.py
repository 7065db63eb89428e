"""The commands. ``COMMANDS`` in danlu/cli/app.py names each of them as module:attribute.

``run``, ``submit``: run a script; submit a job file; rerun a job.
``jobs``, ``files``: list, show, log, stop, remove and wait; get and restore files of a job.
``check``, ``python``: report what code needs; run a script in the runtime without a job.
``verify``: run a script on the real TensorFlow 1.15.5 and on Danlu, and compare.
``definitions``: algorithms and data sets. ``store``: objects and files by URI or path.
``server``: up, down and status. ``machine``: doctor, settings and completion.
``demo``: one small job of each service.
"""
