"""Looks at code before it runs: what would be repaired, what is mapped, what would fail.

``python -m danlu_runtime.check DIR --json`` prints one JSON object. No line of the code is run;
TensorFlow is imported where the code uses it, since only the real thing knows its names.
"""
