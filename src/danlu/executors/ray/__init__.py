"""Runs tasks on a Ray cluster; docs/guides/ray.md shows the processes.

``executor``: the executor in the server; start reading here.
``placement``, ``tasks``: placement groups and places; states of tasks, and stopping them.
``link``, ``driver``: the server's connection to the driver; the driver process.
``cluster``: the calls of Ray that the driver makes.
``bootstrap``, ``agent_actor``: the actor on a node; it starts ``danlu.agent.remote``.
``head``, ``access``: a Ray head started by ``danlu up --ray``; address and token of a cluster.
"""
