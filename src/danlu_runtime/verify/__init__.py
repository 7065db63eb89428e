"""The programs of ``danlu verify``. They also run under Python 3.7 with TensorFlow 1.15.5.

``record``: runs a script with fixed seeds, and writes what its sessions did and its variables.
``checkpoints``: reads and restores what a run wrote, with the TensorFlow of one side.
``arrays``: compares two files of arrays.
"""
