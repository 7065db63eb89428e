"""The job model: plain values without I/O.

``spec``, ``plan``, ``status``: what was requested, what will run, what happened.
``state``, ``job``: states and reasons; a job as it is stored.
``versions``, ``definitions``, ``form``: versions of definitions; algorithms, data sets; a reader.
``describe``: the progress of a job as text.
``presets``, ``modelmaker``: parameters of preset models and of ModelMaker jobs.
``kept_files``: which files of a working directory are kept.
``gpus``, ``package_names``: used in the child too, and therefore import nothing.
``wire``: dataclasses to JSON and back.
"""
