"""Ours: the folder is packed, sent and submitted every time, as a person's command does it."""

import sys
from pathlib import Path

from driver import serve

from danlu.client import bundle, connect
from danlu.settings import load

folder = Path(sys.argv[1])
settings, client = load(), connect()


def submit() -> None:
    with bundle.packed(bundle.select(folder / "first.py", settings)) as archive:
        uri = client.upload_code(archive)
    request = {"dialect": "modelarts", "code_dir": uri, "boot_file": "first.py"}
    ended = client.wait(client.submit(request)["id"])
    if ended["state"] != "succeeded":
        raise SystemExit(f"The job {ended['name']} {ended['state']}: {ended['cause']}")


serve(submit)
