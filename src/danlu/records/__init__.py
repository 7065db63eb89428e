"""Stores jobs, definitions and server leases in a database.

``api``: the interface; start reading here.
``sql``: the operations, for every SQL database.
``sqlite``, ``postgres``: the two databases.
``schema``, ``upgrade``, ``migrations``: tables, their revision, and how it is updated.
"""
