"""A code directory and the boot file inside it, as ModelArts and DLS both ask for them."""

from pathlib import PurePosixPath
from urllib.parse import unquote

from danlu.dialects.form import Form
from danlu.storage.names import is_name


def boot_file_of(form: Form, code: str, service: str, field: str = "boot_file") -> str:
    """Return the boot file, relative to the code directory."""
    given = form.text(field)
    inside = given.removeprefix(code.rstrip("/") + "/") if "://" in given else given
    path = PurePosixPath(inside)
    if given and not given.endswith(".py"):
        form.fault(field, f"{given!r} is not a Python file; {service} starts no other.")
    elif given and ("://" in inside or path.is_absolute() or ".." in path.parts):
        form.fault(field, f"must lie inside the code directory, got {given!r}.")
    return str(path)


def last_level(uri: str) -> str:
    """The service keeps only the last level of a code directory's path.

    One that can be the name of no folder, '..' for one, is passed over.
    """
    path = uri.split("://", 1)[-1]
    name = PurePosixPath(unquote(path) if uri.startswith("file://") else path).name
    return "code" if not is_name(name) or name.endswith((".tar.gz", ".zip")) else name
