"""A home with a real server in the background, and what a person does there, in this process."""

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

from danlu.cli.main import main
from danlu.client import Client, background, bundle, connect
from danlu.settings import Settings, load


class Platform:
    """``env``: what everything done here finds in its environment beside its own."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        (folder / "run").mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "PYTHONDONT"))}
        own = {"DANLU_HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder / "run")}
        self.env = {**kept, **own, "DANLU_CPUS": "4", "DANLU_GPUS": "none", "LC_ALL": "C.UTF-8"}
        self.env |= {"DANLU_WARM": "off", **env}

    @contextmanager
    def inside(self, **env: str) -> Iterator[None]:
        before = os.getcwd()
        with mock.patch.dict(os.environ, {**self.env, **env}, clear=True):
            os.chdir(self.folder)
            try:
                yield
            finally:
                os.chdir(before)

    @property
    def settings(self) -> Settings:
        return load(env=self.env)

    def client(self) -> Client:
        with self.inside():
            return connect(self.settings)

    def code(self, name: str, files: Mapping[str, str]) -> str:
        """Write a program, upload it and return its URI."""
        folder = self.program(name, files)
        with self.inside(), bundle.packed(bundle.select(folder, self.settings)) as archive:
            return connect(self.settings).upload_code(archive)

    def program(self, name: str, files: Mapping[str, str]) -> Path:
        folder = self.folder / name
        for file, text in files.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder

    def run(self, request: Mapping[str, Any], secrets: Mapping[str, str] | None = None) -> Any:
        """Submit a job, wait for its end and return it."""
        with self.inside():
            client = connect(self.settings)
            made = client.submit(dict(request), secrets=dict(secrets or {}))
            return client.wait(made["id"], timeout=100)

    def log(self, job: Mapping[str, Any]) -> str:
        with self.inside():
            page = connect(self.settings).lines(job["id"])
        return "\n".join(line.text for line in page.lines)

    def types(self, *words: str, **env: str) -> tuple[int, str, str]:
        """Return exit code, output and errors of a command."""
        out, err = io.StringIO(), io.StringIO()
        with self.inside(**env), redirect_stdout(out), redirect_stderr(err):
            code = main(list(words))
        return code, out.getvalue(), err.getvalue()

    def close(self) -> None:
        with self.inside():
            background.bring_down(self.settings)


def received(log: str, mark: str = "HEARD ") -> Any:
    """Return what a script has printed as JSON behind a mark."""
    found = [line for line in log.splitlines() if line.startswith(mark)]
    assert found, log
    return json.loads(found[-1].removeprefix(mark))
