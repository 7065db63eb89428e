"""Why a job ended, and what the user can do about it.

``cause``: the one-line cause of an ended job, and of one that hangs; start reading here.
``hints``, ``hint_context``: the table of hints; what a hint may look at.
``arguments``, ``code``, ``paths``: hints for parsers of arguments, modules and syntax, and paths.
``tensorflow``, ``exits``: hints for TensorFlow's errors, and for exits without an exception.
"""
