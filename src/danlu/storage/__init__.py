"""Object stores, files and archives.

``api``: the interface of a storage; start reading here.
``locate``: from a URI to its storage. ``local``, ``s3``: files of a disk; S3-compatible services.
``names``, ``listing``: keys as paths of a disk; the objects below a directory.
``transfer``: folders to and from a storage.
``cache``: fetched folders, by content.
``folders``: safe access below a directory, by descriptors.
``archive``, ``archive_formats``: check and unpack tar and zip.
``paths``, ``paths_lookup``, ``paths_file``: objects by path, as scripts see them.
``checkpoints``, ``previous``: files a training continues from; copies of replaced objects.
``scratch``: a bucket whose changes go to another folder, for the script of a rehearsal.
"""
