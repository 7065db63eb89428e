"""The life of a job in the server.

``draft``: checks a request and collects every fault. ``auto_fields``: decides what it left open.
``locations``: reads the code; compares places in stores. ``syntax``: finds syntax errors.
``rehearsal``, ``rerun``: scratch outputs of a rehearsal; the request of a repeated job.
``argument_urls``: places that arguments of a script name; which of them a job has written to.
``secrets``: secrets of active jobs, one file each.
``supervisor``: moves jobs from state to state. ``decide``: the next state, as a pure function.
``cleanup``: releases what an ended job held, also after a crash.
``logs``: merges the logs of all tasks.
"""
