"""The command ``danlu``.

``main``, ``app``: entry point; the table of commands; errors as messages and exit codes.
``session``, ``options``: settings, terminal and client of one call; shared options.
``commands``: the commands. ``demo``: the scripts that ``danlu demo`` runs.
``request``, ``code``, ``submit``: build a request, read and send code, submit a job.
``follow``, ``show``, ``text``: print a running job, a view of a job, columns and bars.
``verify``: the parts of ``danlu verify``.
``objects``, ``doctor``, ``setting_text``: for ``danlu store``, ``doctor`` and ``settings``.
"""
