"""Reports what code needs before it runs: repairs, mappings, and names that are missing.

``python -m danlu_runtime.check DIR --json`` prints one JSON object. The code is not run.
TensorFlow is imported if the code uses it, because only TensorFlow knows its names.

``__main__``: the program. ``scan``: reads every Python file of a folder.
``resolve``: asks the installed libraries, patched as in a job, whether a name exists.
``syntax``: finds the syntax error that remains after all source repairs.
"""
