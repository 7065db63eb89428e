"""A whole server process over the fake platform."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx

PROGRAM = Path(__file__).with_name("fake_platform.py")
DEADLINE = 100


class Running:
    def __init__(self, home, *options, **env):
        received, reported = os.pipe()
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, "--home", home, "--ready", str(reported), *options],
            pass_fds=(reported,),
            env={**os.environ, **env},
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        os.close(reported)
        with open(received, "rb") as pipe:
            line = pipe.readline()
        self.info = json.loads(line) if line else {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def client(self, timeout=DEADLINE):
        transport = httpx.HTTPTransport(uds=self.info["socket"])
        return httpx.Client(transport=transport, base_url="http://localhost", timeout=timeout)

    def log(self):
        return self.process.stderr.read().decode()


def until(condition):
    """Wait for something another process does."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
