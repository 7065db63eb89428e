"""The real platform under a real client: a job that outlives its server."""

import contextlib
import json
import os
import signal
import threading
from pathlib import Path

import pytest

from danlu.client import background, bundle, connect
from danlu.settings import load

SCRIPT = """
import os, time
for number in range(30):
    print("line", number, flush=True)
    time.sleep(0.1)
print("a secret of", len(os.environ["AK"]))
"""


@pytest.fixture
def settings(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "home"))
    settings = load()
    yield settings
    background.bring_down(settings)


def test_a_job_and_its_follower_outlive_their_server(settings, tmp_path, until):
    script = tmp_path / "code" / "train.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    client = connect(settings)
    with bundle.packed(bundle.select(script, settings)) as archive:
        code = client.upload_code(archive)
    received = []

    request = {"dialect": "modelarts", "name": "mnist", "code": code, "boot_file": "train.py"}
    client.submit(request, {"AK": "canary-value"})
    follower = threading.Thread(target=lambda: received.extend(client.follow("mnist")))
    follower.start()
    until(lambda: any(line.text == "line 3" for line in received))
    os.kill(json.loads((settings.home / "lock").read_text())["pid"], signal.SIGKILL)
    follower.join(60)
    job = client.wait("mnist", timeout=60)

    text = [line.text for line in received if not line.text.startswith("[danlu]")]
    assert text == [*(f"line {number}" for number in range(30)), "a secret of 12"]
    assert (job["state"], job["attempt"]) == ("succeeded", 1)
    files = dict(written(settings.home))
    assert [path for path, data in files.items() if b"a secret of 12" in data]
    assert not [path for path, data in files.items() if b"canary-value" in data]


def written(home):
    """Yield every file below and its bytes; what is being removed meanwhile is passed over."""
    for folder, _, names in os.walk(home):
        for path in (Path(folder, name) for name in names):
            with contextlib.suppress(OSError):
                if path.is_file():
                    yield path, path.read_bytes()
