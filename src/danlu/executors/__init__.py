"""Executors run tasks: as processes of this machine, or on a Ray cluster.

``api``: the interface; start reading here. It also chooses the executor of the settings.
``local``, ``ray``: the two executors.
``machine``: capacity, reservations, ports and the isolation probe of this machine.
``agents``, ``task_monitor``: start agents; read the state of tasks, and stop them.
``warm_pool``: keeps processes that have loaded TensorFlow.
``disk_space``, ``kept_files``: reserved disk space; kept files of a task.
"""
