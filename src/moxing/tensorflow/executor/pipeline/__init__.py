"""From what ``input_fn`` returns to the batches of each clone.

``batches``: chooses between the two ways; start reading here.
``graph``, ``dataset``: reads the graph, and turns it into one tf.data pipeline.
``queue``: a queue, for data that tf.data cannot hold. ``inputs``: the returned tensors.
"""
