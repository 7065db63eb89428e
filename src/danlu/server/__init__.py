"""REST over the service: thin routes behind one guard.

Start reading at ``app.py`` (what is served) and ``process.py`` (the life of a server).
Nothing here is imported by ``danlu`` itself: a server process imports it on start.
"""
