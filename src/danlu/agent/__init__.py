"""The agent: the process that runs one task, from its inputs to its outcome.

``__main__``, ``remote``: start an agent on this machine, or on a node of a cluster.
``fork_server``: forks agents, and keeps a spare one.
``task_runner``: runs a task from claim to outcome; start reading here.
``context``, ``control``: the workspace of the task; its claim, heartbeat and stop requests.
``inputs``, ``packages``: fetch code and data; install packages.
``start_barrier``: waits until all tasks of the job are ready.
``script``, ``reports``: start the child; report its log, progress, curves and activity.
``outputs``, ``kept_files``: upload outputs; keep files of the working directory.
``outcome``: diagnoses the exit and writes the outcome.
"""
