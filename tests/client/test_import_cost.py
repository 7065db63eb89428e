import json
import re
import subprocess
import sys
from pathlib import Path

import danlu

HEAVY = {"asyncio", "email", "fastapi", "http.client", "pydantic", "ssl", "subprocess", "uuid"}


def test_importing_the_client_loads_nothing_heavy():
    code = "import danlu.client, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout

    assert HEAVY & set(json.loads(loaded)) == set()


def test_the_version_is_the_one_of_the_package():
    text = Path(__file__).parents[2].joinpath("pyproject.toml").read_text()

    assert danlu.__version__ == re.search(r'^version = "(.+)"', text, re.MULTILINE)[1]


def test_connect_is_exported_by_the_package():
    from danlu.client.api import connect

    assert danlu.connect is connect
