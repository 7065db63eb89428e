"""Buckets of an S3-compatible service.

``storage``: the storage; start reading here. ``bucket``: requests of one bucket, with retries.
``http``: signed requests with urllib3. ``multiplexer``: many small requests in one thread.
``upload``: multipart uploads that can be resumed.
``answers``: XML responses and errors.
"""
