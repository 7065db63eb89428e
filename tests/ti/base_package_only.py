"""Runs a program as on a machine where the base package alone is installed.

python base_package_only.py PROGRAM [ARGUMENT...]
"""

import runpy
import sys
from importlib.abc import MetaPathFinder

THERE = {"click", "danlu", "ti"}


class OnlyTheBase(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in THERE and top not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


if __name__ == "__main__":
    sys.meta_path.insert(0, OnlyTheBase())
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
