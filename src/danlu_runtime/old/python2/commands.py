"""``commands``: the output of a shell command."""

from subprocess import getoutput, getstatusoutput

__all__ = ["getoutput", "getstatusoutput"]
