"""The task directory: the files that server, executor, agent and child exchange.

``files``: every file of a job, by name and type; start reading here.
``job_files``: where these files are: a folder, or objects of a store.
``log``: log segments by byte offset. ``processes``: identifies agents and processes of a task.
``exchange_dir``: files between agent and child. ``warm_protocol``: messages of a warm process.
``lease``: until when the server may start tasks. ``handover``: secrets for an agent on a node.

Specification: docs/design/task-directory.md
"""
