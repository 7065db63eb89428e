"""Tasks on a Ray cluster. Start reading at ``executor.py``; docs/guides/ray.md has the picture.

server                                   executor.py   link.py
  └ driver, a process of its own         driver.py     cluster.py    the only one that has Ray
      └ holder, an actor for each task   bootstrap.py  holder.py     on the nodes
          └ agent                        danlu.agent.remote
"""
