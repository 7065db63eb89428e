"""Several servers that share one database.

``lease``: the lease of this server: taken, renewed, lost.
``ownership``: which server may change a job, and takeover from a lost server.
``home``: checks that home directory, records and store belong together.
"""
