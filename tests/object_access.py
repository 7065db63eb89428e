"""Objects written and read whole, by their path."""

from danlu.storage import paths


def put(path: str, data: bytes = b"1") -> None:
    with paths.open_write(path) as file:
        file.write(data)


def got(path: str) -> bytes:
    with paths.open_read(path) as file:
        return file.read()
