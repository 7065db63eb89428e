"""All operations of the platform, in plain Python without HTTP.

``service``: the operations on jobs and code archives; start reading here.
``platform``: creates records, executor, supervisor and service for one home directory.
``jobs``: from a request to a job, and from one state to the next.
``outputs``: files that jobs leave or replace. ``definitions``: algorithms and data sets.
``servers``: several servers with one database. ``diagnosis``: causes and hints.
"""
