"""The parts of ``danlu verify``, which compares a run with one of the real TensorFlow 1.15.5.

``reference``: finds or makes the environment with TensorFlow 1.15.5.
``isolated_run``: runs the script once, apart from the files of the user and of the other run.
``paths``: the paths that the words of a command line name.
``printed``: aligns printed lines by their text and compares their numbers; pure functions.
``written``: pairs the files that two runs wrote.
``tensors``: reads, restores and compares arrays, in processes with TensorFlow.
``comparison``: the result of everything; pure functions.
``report``: the result as lines of text.
"""
