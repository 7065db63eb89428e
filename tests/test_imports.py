"""What a fresh process must not load: start-up time is kept by what is not imported."""

import importlib
import json
import subprocess
import sys

import pytest

from danlu.errors import Unsupported

HEAVY = {
    "alembic", "asyncio", "boto3", "botocore", "fastapi", "httpx", "keras", "numpy",
    "optuna", "pydantic", "ray", "requests", "rich", "sqlalchemy", "sqlite3", "starlette",
    "tensorflow", "textual", "uvicorn",
}  # fmt: skip
PARTS = {
    "danlu.agent", "danlu.dialects", "danlu.executors", "danlu.records", "danlu.server",
    "danlu.service",
}  # fmt: skip
NAMES = {"danlu_runtime", "moxing", "ti"}
REPORT = "\nimport sys, json; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"


def loaded(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    ("code", "further"),
    [
        ("import danlu", {"click", "danlu.cli", "danlu.client", "danlu.storage", *NAMES}),
        ("import ti", {"click", "danlu.cli", "danlu.client", "danlu.storage", *NAMES - {"ti"}}),
        (
            "from ti.tensorflow import TensorFlow; from ti.session import Session\n"
            "TensorFlow(entry_point='train.py', ti_session=Session())",
            {"click", "danlu.cli", "danlu.client", "danlu.storage", *NAMES - {"ti"}},
        ),
        ("import moxing", {"click", "danlu.cli", "danlu.client", *NAMES - {"moxing"}}),
        (
            "import moxing as mox; mox.file.exists('/')",
            {"click", "danlu.cli", "danlu.client", "botocore", "urllib3", *NAMES - {"moxing"}},
        ),
        ("import danlu_runtime", {"click", "danlu.cli", "danlu.client", "moxing", "ti"}),
        (
            "from danlu.cli.main import main\n"
            "try: main(['--help'])\n"
            "except SystemExit as end: assert not end.code",
            {"danlu.client", "danlu.storage", *NAMES},
        ),
    ],
    ids=["danlu", "ti", "an estimator", "moxing", "mox.file", "danlu_runtime", "danlu --help"],
)
def test_fresh_process_loads_nothing_it_does_not_use(code, further):
    assert loaded(code) & (HEAVY | PARTS | further) == set()


def test_job_is_asked_for_without_job_model(tmp_path):
    (tmp_path / "train.py").write_text("print('here')")
    code = (
        "from danlu.cli.session import Session\n"
        "from danlu.cli.request import compose_request\n"
        f"request, code = compose_request(Session(), {str(tmp_path / 'train.py')!r}, {{}})\n"
        "assert request['dialect'] == 'modelarts'\n"
        "from danlu.client import bundle, connect"
    )

    unused = {"danlu.job.job", "danlu.job.plan", "danlu.dialects.modelarts", "danlu.dialects.form"}
    assert loaded(code) & (HEAVY | unused) == set()


def test_local_server_needs_no_email_or_tls(tmp_path):
    code = (
        "import socket, threading\n"
        "from danlu.client.connection import Target, Wire\n"
        f"path = {str(tmp_path / 'socket')!r}\n"
        "server = socket.socket(socket.AF_UNIX)\n"
        "server.bind(path); server.listen()\n"
        "def answer():\n"
        "    with server.accept()[0] as heard:\n"
        "        heard.recv(65536)\n"
        "        heard.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}')\n"
        "thread = threading.Thread(target=answer); thread.start()\n"
        "assert Wire(Target(path=path)).exchange('GET', '/v1/hello').json() == {}\n"
        "thread.join(); server.close()"
    )

    assert loaded(code) & (HEAVY | {"email", "http.client", "ssl"}) == set()


@pytest.mark.parametrize(
    ("package", "name"),
    [
        *(("moxing", "run"), ("moxing.framework", "cloud")),
        *(("moxing.pytorch", "dist"), ("moxing.mxnet", "run")),
    ],
)
def test_missing_name_of_moxing_raises_unsupported(package, name):
    module = importlib.import_module(package)

    with pytest.raises(Unsupported, match=f"{package}.{name} is not implemented"):
        getattr(module, name)


@pytest.mark.parametrize("package", ["ti", "moxing"])
def test_package_allows_names_that_python_requests(package):
    assert not hasattr(__import__(package), "__wrapped__")


def test_agent_uses_only_services_it_needs(tmp_path):
    code = (
        "from pathlib import Path\n"
        "import danlu.agent.task_runner, danlu.agent.inputs, danlu.agent.outputs\n"
        "from danlu.settings import Endpoint, Settings\n"
        "from danlu.storage.cache import ContentCache\n"
        "from danlu.storage.locate import Stores\n"
        f"home = Path({str(tmp_path)!r})\n"
        "stores = Stores.of(Settings(home, stores={'ks3': Endpoint('http://127.0.0.1:9')}))\n"
        "place = stores.at('obs://bucket/data')\n"
        "place.storage.write('data/a', b'1')\n"
        "ContentCache(home / 'cache', 1000).tree(place, 'job')"
    )

    assert loaded(code) & {"botocore", "urllib3", "asyncio", "click"} == set()
