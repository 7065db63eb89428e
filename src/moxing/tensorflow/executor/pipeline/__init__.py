"""From what ``input_fn`` returns to the batches of each clone: ``batches.py`` is the way in."""
