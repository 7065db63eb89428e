"""What the runtime reports about a script.

``arguments``: arguments that the parser of the script does not define.
``failure``: records an uncaught exception with the lines of the user's code.
``notes``: the translation report, one line for each repair or mapping.
``quiet``: removes known lines of TensorFlow from the log while it is loaded.
"""
