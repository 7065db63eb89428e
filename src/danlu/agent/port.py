"""Whether somebody else has the port a task was promised."""

from pathlib import Path

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTEN = "0A"


def has_listener(port: int) -> bool:
    """Tell whether a process of this machine listens at a port, on any address.

    Asked when every process of the task is gone: then it is a stranger's, and the script could
    not have had it.
    """
    return any(_listed(table, port) for table in _TABLES)


def _listed(table: str, port: int) -> bool:
    try:
        lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return False
    rows = (line.split() for line in lines)
    return any(row[3] == _LISTEN and row[1].endswith(f":{port:04X}") for row in rows)
