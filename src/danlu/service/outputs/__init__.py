"""Files that a job leaves, and files that it replaced.

``files``: lists and reads outputs and kept files.
``unstored``: outputs that are in no store yet; stores them on request.
``previous``: restores what a job replaced in its outputs, and removes old copies.
"""
