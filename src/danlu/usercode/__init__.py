"""Reads the user's code before it runs, as pure functions of names and texts.

Old scripts may be Python 2, so these modules read tokens; only ``own_imports`` reads syntax trees.

``code_snapshot``: names and texts of the code, and the limit on what is read.
``service_detection``: which service a script was written for.
``tensorflow_version``, ``tensorflow_names``: TensorFlow 1 or 2, and the names that decide it.
``channel_use``: whether a script uses an input or output as a directory or as a URL.
``parameters``, ``parser_calls``: the parameters a script defines.
``value_flow``: the calls that receive the value of a parameter, and whether they only read it.
``own_imports``: the files of the code that a script imports.
``calls``, ``python_text``: calls, names and imports in the text of a file.
"""
