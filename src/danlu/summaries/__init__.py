"""Curves from the event files that TensorFlow writes, read without TensorFlow.

A process of its own (``python -m danlu.summaries``), started by an agent when its script has
written an event file: the reader brings numpy along, which an agent cannot afford.
"""
