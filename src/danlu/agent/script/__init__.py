"""Starts the process of a script, limits it and ends it with everything it started.

``task_sandbox``: describes the sandbox of the task and starts programs in it.
``sandbox_launcher``: processes that enter the sandbox; also what a spare agent prepares.
``child``: one running program: start, stop request, exit status.
``environment``: the variables of the script, with the access to object stores.
``temporary_dirs``: private ``/tmp``, ``/var/tmp`` and ``/dev/shm``.
``processes``: finds and kills all processes of a task; limits their number.
``warm_client``: asks the warm pool for a process that has loaded TensorFlow.
"""
