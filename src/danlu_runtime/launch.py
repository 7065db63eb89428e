"""Becomes the user's program: ``python launch.py BOX``. What that takes is in program.py.

Python compiles the file it is given anew each time, and keeps the compiled form of modules only:
so there is next to nothing in this one.
"""

import sys

if __name__ == "__main__":
    # The folder of this file came first in sys.path: no place for a user's imports.
    sys.path[0] = sys.path[0].rpartition("/")[0]
    from danlu_runtime import program

    sys.path.pop(0)
    program.start(*sys.argv[1:])
