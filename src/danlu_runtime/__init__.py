"""The runtime: code that runs in the process of the user's script.

``launch``, ``foreground``: programs that start a script in a job, and without one.
``start``, ``startup``, ``reports``: run the script; prepare every Python; report failures, notes.
``tf1``, ``tf2``, ``keras2``: the TensorFlow and Keras that the script was written for.
``repair``, ``old``: repair source files; restore names that libraries removed.
``steps``, ``fused``: count and limit training steps; run several steps in one call.
``tffs``: paths of object stores in TensorFlow. ``warm``: the warm process. ``check``: danlu check.
``modelmaker``, ``cluster``: drive ModelMaker functions; the parameter server.
``verify``: the programs of ``danlu verify``, which also run under Python 3.7.
``checkpoint_validation``, ``gpus``: skip incomplete checkpoints; GPUs of the task.
"""
