"""Runs the user's program: ``python launch.py BOX``. The code is in start/program.py.

Python compiles the file on its command line on every start and caches the bytecode of modules only.
Therefore this file is as short as possible.
"""

import sys

if __name__ == "__main__":
    # Python puts the folder of this file first in sys.path. User imports must not find it.
    sys.path[0] = sys.path[0].rpartition("/")[0]
    from danlu_runtime.start import program

    sys.path.pop(0)
    program.start(*sys.argv[1:])
