"""The platform's operations over HTTP, from any process: standard library only, and light.

Start reading at ``api.py``.
"""

from danlu.client.api import Client, connect
from danlu.job.output import Line, Lines

__all__ = ["Client", "Line", "Lines", "connect"]
