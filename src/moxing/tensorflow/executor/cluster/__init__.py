"""``mox.run`` on several processes: parameter servers and workers.

``cluster``: start, end and placement; start reading here. ``hosts``: reads and checks host lists.
``session``: sessions of chief and workers. ``sync``: synchronous training.
``watch``: reports which worker a step waits for.
"""
