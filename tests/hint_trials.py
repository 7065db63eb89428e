"""For every hint: a program that gets it, and the same program after the change it names.

A key is the code of a hint, or ``code.variant`` for another program with the same hint.

``{data}`` in options stands for a folder with the files of ``data``, ``{store}`` (in scripts too)
for the same files in a store, ``{hint}`` in a fixed script for the code that the hint quotes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Trial:
    """``hint``: words that must be in it. ``rerun``: words for ``danlu rerun JOB`` instead."""

    script: str
    hint: str
    options: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=lambda: {"a.txt": "1"})
    fixed: "Trial | None" = None
    rerun: tuple[str, ...] = ()
    root: bool = False  # only root can become another user

    def then(self, **changes: object) -> "Trial":
        """Return the trial with the change that the hint names."""
        return replace(self, fixed=replace(self, **changes))  # type: ignore[arg-type]


def edited(trial: Trial, old: str, new: str) -> Trial:
    assert old in trial.script
    return trial.then(script=trial.script.replace(old, new))


DATA = ("--data-url", "{data}")
TWO_NODES = ("--dialect", "dls", "--nodes", "2")
# Names made at run time: the platform cannot check parameters before the script runs.
MADE = """
import argparse
parser = argparse.ArgumentParser()
for name in ["steps", "rate"]:
    parser.add_argument("--" + name, type=int)
args = parser.parse_args()
"""
CHANNELS = """
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument("--data_url", default="")
parser.add_argument("--train_url", default="")
args, unknown = parser.parse_known_args()
"""
ABSL = """
from absl import app, flags
for name in ["steps", "rate"]:
    flags.DEFINE_string(name, "", "")
app.run(lambda words: print(words))
"""
CLICK = """
import click
def main(**options): print(options)
for name in ["steps", "rate"]:
    main = click.option("--" + name)(main)
click.command()(main)()
"""
ANOTHER_USER = """
os.chown("/cache", 65534, 65534)
os.seteuid(65534)
try:
    open(PATH, "w").write("1")
finally:
    os.seteuid(0)
"""
# Worker 0 waits for the other one, which is worker 1 only if task_index is handed on.
NODES = """
import socket, sys
flags = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
index, patience = INDEX
host, port = flags.get("worker_hosts").split(",")[0].rsplit(":", 1)
if flags["job_name"] == "worker" and index == "0":
    mine = int(port) if flags["task_index"] == "0" else 0
    with socket.create_server((host, mine)) as server:
        server.settimeout(patience)
        server.accept()[0].close()
while flags["job_name"] == "worker" and index == "1":
    try:
        socket.create_connection((host, int(port)), 5).close()
        break
    except ConnectionRefusedError:
        pass
"""

_module_in_code = Trial(
    "import tools\n", "in a folder Python does not search", files={"lib/tools.py": ""}
)

TRIALS: Mapping[str, Trial] = {
    "argument_both": edited(
        Trial(MADE, "parser.parse_known_args()`", (*DATA, "-p", "lr=1")),
        "args = parser.parse_args()",
        "{hint}",
    ),
    "argument_ours": edited(
        Trial(MADE, "args, unknown", DATA), "args = parser.parse_args()", "{hint}"
    ),
    "argument_hyperparameter": Trial(
        MADE, "parser.add_argument", ("--dialect", "ti", "--entry-point", "train.py", "-p", "lr=1")
    ).then(script=MADE.replace('"rate"', '"lr"')),
    "argument_yours": Trial(MADE, "drop it from the job", ("-p", "lr=1")).then(options=()),
    "argument_missing": Trial(
        MADE.replace("type=int", "required=True"), "danlu rerun", ("-p", "rate=1")
    ).then(rerun=("-p", "steps=1")),
    "argument_value": Trial(MADE, "-p steps=…", ("-p", "steps=")).then(rerun=("-p", "steps=1")),
    "channel_missing": Trial(
        CHANNELS.replace('_url", default=""', '_url", required=True'),
        "--data-url obs://… --train-url obs://…",
        ("--dialect", "modelarts"),
    ).then(options=("--data-url", "{store}", "--train-url", "{store}-out")),
    "flag_ours": Trial(ABSL, "flags.DEFINE_string", DATA).then(
        script=ABSL.replace("app.run", "{hint}\napp.run")
    ),
    "flag_yours": Trial(ABSL, "flags.DEFINE_string", ("-p", "lr=1")).then(
        script=ABSL.replace("app.run", "{hint}\napp.run")
    ),
    "option_ours": edited(
        Trial(CLICK, "@click.option('--data_url')", DATA), '"rate"]', '"rate", "data_url"]'
    ),
    "option_yours": Trial(CLICK, "drop it from the job", ("-p", "lr=1")).then(options=()),
    "module_moxing": Trial(
        CHANNELS + "import moxing as mox\nmox.nosuch(args.data_url)\n", "`mox.file`", DATA
    ).then(script=CHANNELS + "print(os.listdir(args.data_url))\n"),
    "module_case": Trial("import utils\n", "Utils.py", files={"Utils.py": ""}).then(
        files={"utils.py": ""}
    ),
    "module_in_code": _module_in_code.then(script="import os, sys\n{hint}\nimport tools\n"),
    "module_python2": Trial("import sets\nprint(sets.Set([1]))\n", "today it is `set`").then(
        script="print(set([1]))\n"
    ),
    "module_npu": Trial("import npu_bridge\n", "take out its imports").then(script="print(1)\n"),
    "module_unknown": Trial("import nosuchmodule\n", "put the file into the code folder").then(
        files={"nosuchmodule.py": ""}
    ),
    "python2_tabs": Trial(
        "import part\n",
        "with spaces only",
        files={"part.py": "if True:\n   x = 1\n\ty = 2\n"},
    ).then(files={"part.py": "if True:\n   x = 1\n   y = 2\n"}),
    "keyword_near": Trial(  # a name that is not known before the run: no syntax check finds it
        "__import__('part')\n", "`return`", files={"part.py": "def f():\n    reutrn 3\n"}
    ).then(files={"part.py": "def f():\n    {hint} 3\n"}),
    "python2_name": Trial(
        "import sys\nif sys.version_info[0] > 1:\n    print(list(xrange(3)))\n", "write `range`"
    ).then(script="import sys\nif sys.version_info[0] > 1:\n    print(list(range(3)))\n"),
    "full_width": Trial(
        "import part\n", "type the plain one", files={"part.py": "x = 1 《 2\n"}
    ).then(files={"part.py": "x = 1 < 2\n"}),
    "variable_service": Trial(
        "import os\nprint(os.environ['TM_CHANNEL_TRAIN'])\n",
        "name the channel as the script does",
        ("--dialect", "ti", "--channel", "training={data}"),
    ).then(options=("--dialect", "ti", "--channel", "train={data}")),
    "proxy_pop": Trial("import os\nos.environ.pop('http_proxy')\n", "None").then(
        script="import os\n{hint}\n"
    ),
    "path_of_channel": Trial(
        CHANNELS + "open('{store}/a.txt')\n",
        "open the path the script gets for data_url",
        ("--data-url", "{store}"),
    ).then(script=CHANNELS + "open(os.path.join(args.data_url, 'a.txt'))\n"),
    "path_url": Trial(
        CHANNELS + "open(os.path.join(args.data_url, 'a.txt'))\n",
        "--urls none",
        ("--data-url", "{store}", "--urls", "all"),
    ).then(options=("--data-url", "{store}", "--urls", "none")),
    "path_scheme": Trial("open('{store}/a.txt')\n", "`mox.file`").then(
        script="import moxing as mox\nprint(mox.file.read('{store}/a.txt'))\n"
    ),
    "path_scheme.write": Trial("open('{store}/b.txt', 'w').write('2')\n", "write obs://").then(
        script="import moxing as mox\nmox.file.write('{store}/b.txt', '2')\n"
    ),
    "path_url.write": Trial(
        CHANNELS + "open(os.path.join(args.train_url, 'b.txt'), 'w').write('2')\n",
        "write to local paths only",
        ("--train-url", "{store}-out", "--urls", "all"),
    ).then(options=("--train-url", "{store}-out", "--urls", "none")),
    "path_url.joined": Trial(
        CHANNELS + "open(args.train_url + 'b.txt', 'w').write('2')\n",
        "--train-url {store}-out/a/ --urls none",
        ("--dialect", "dls", "--train-url", "{store}-out/a", "--urls", "all"),
    ).then(options=("--dialect", "dls", "--train-url", "{store}-out/a/", "--urls", "none")),
    "path_empty": Trial(
        CHANNELS + "open(os.path.join(args.data_url, 'a.txt'))\n",
        "--data-url URI",
        ("--dialect", "dls"),
    ).then(options=("--dialect", "dls", "--data-url", "{store}", "--urls", "none")),
    "path_bucket": Trial(
        "open('/{bucket}/a.txt')\n", "read `obs://", ("--data-url", "{store}")
    ).then(script="import moxing as mox\nprint(mox.file.read('{store}/a.txt'))\n"),
    "path_bucket_unknown": Trial("open('/{bucket}/a.txt')\n", "is a bucket, read `obs://").then(
        script="import moxing as mox\nprint(mox.file.read('{store}/a.txt'))\n"
    ),
    "path_input": Trial(
        CHANNELS + "open(os.path.join(args.data_url, 'b.txt'))\n",
        "danlu store ls -r obs://",
        ("--data-url", "{store}", "--urls", "none"),
    ).then(data={"a.txt": "1", "b.txt": "2"}),
    "export_exists": Trial(
        CHANNELS
        + "path = os.path.join(args.train_url, 'v1')\n"
        + "assert not os.path.exists(path), 'Export directory already exists: ' + path\n"
        + "os.makedirs(path)\nopen(path + '/m', 'w').close()\n",
        "export to a version that is not",
        ("--train-url", "{store}", "--predownload", "train_url"),
        data={"v1/saved_model.pb": "1"},
    ).then(
        script=CHANNELS
        + "path = os.path.join(args.train_url, 'v2')\n"
        + "assert not os.path.exists(path), 'Export directory already exists: ' + path\n"
        + "os.makedirs(path)\nopen(path + '/m', 'w').close()\n",
    ),
    "folder_exists": Trial(
        CHANNELS + "path = args.train_url\nos.makedirs(path)\nopen(path + '/m', 'w').close()\n",
        "exist_ok=True",
        ("--train-url", "{store}-out"),
    ).then(script=CHANNELS + "path = args.train_url\n{hint}\nopen(path + '/m', 'w').close()\n"),
    "denied_output": Trial(
        CHANNELS + "PATH = args.train_url + '/m'\n" + ANOTHER_USER,
        "runs as another user",
        ("--train-url", "{store}-out"),
        root=True,
    ).then(script=CHANNELS + "open(args.train_url + '/m', 'w').write('1')\n"),
    "denied_input": Trial(
        CHANNELS + "PATH = args.data_url + '/m'\n" + ANOTHER_USER, "to /cache", DATA, root=True
    ).then(script=CHANNELS + "PATH = '/cache/m'\n" + ANOTHER_USER),
    "denied_code": Trial(
        CHANNELS + "PATH = os.path.abspath('m')\n" + ANOTHER_USER, "to /cache", root=True
    ).then(script=CHANNELS + "PATH = '/cache/m'\n" + ANOTHER_USER),
    "denied_elsewhere": Trial(
        CHANNELS + "PATH = '/usr/m'\n" + ANOTHER_USER, "or /cache", root=True
    ).then(script=CHANNELS + "PATH = '/cache/m'\n" + ANOTHER_USER),
    "out_of_memory": Trial(
        "import sys\nbytearray(int(sys.argv[1].split('=')[1]) << 40)\n",
        "-p batch_size=…",
        ("-p", "batch_size=1000000", "--dialect", "modelarts"),
    ).then(rerun=("-p", "batch_size=0")),
    "proxy_between_nodes": Trial(
        "import os\nif 'http_proxy' in os.environ:\n    raise TimeoutError('no peer')\n",
        "take it out of the job's environment",
        (*TWO_NODES, "--env", "http_proxy=http://127.0.0.1:9"),
    ).then(options=TWO_NODES),
    "nodes_wait": Trial(
        NODES.replace("INDEX", '"0", 0.2'), "Use job_name, task_index", TWO_NODES
    ).then(script=NODES.replace("INDEX", 'flags["task_index"], 60')),
    "url_folder": Trial(
        "import os\nos.makedirs('{store}-x')\nopen('{store}-x/m', 'w').write('1')\n",
        "Write with `tf.gfile`",
        ("--dialect", "dls"),
    ).then(script="import moxing as mox\nmox.file.write('{store}-x/m', '1')\n"),
    "url_folder.option": Trial(
        CHANNELS
        + "os.makedirs(args.train_url, exist_ok=True)\n"
        + "open(os.path.join(args.train_url, 'm'), 'w').write('1')\n",
        "Run it with `--urls none`",
        ("--dialect", "dls", "--train-url", "{store}-out", "--urls", "all"),
    ).then(options=("--dialect", "dls", "--train-url", "{store}-out", "--urls", "none")),
    "nothing_written": Trial(
        CHANNELS + "open('/cache/m', 'w').close()\n",
        "so train_url is empty",
        ("--train-url", "{store}-out"),
    ).then(script=CHANNELS + "open(os.path.join(args.train_url, 'm'), 'w').close()\n"),
}

# Hints that a test elsewhere tries.
ELSEWHERE = {
    "input_gone": "tests/programs/test_pitfalls.py::test_an_input_taken_away_before_the_job_began",
    "tmp_own": "tests/programs/test_temporary_files.py::test_file_of_machines_tmp_becomes_input",
    "module_package": "tests/programs/test_packages.py::test_the_hint_for_a_missing_package_works",
}
# Hints that cannot be tried on any machine that runs the tests.
UNTRIED = {
    "module_tensorflow": "needs a runtime without TensorFlow, and the tests need TensorFlow",
    "python2_syntax": "needs a runtime without fissix; with it such a file is repaired and runs",
    "disk_full": "needs a full disk, and free space on it afterwards",
    "disk_full_cache": "needs a full disk, and free space on it afterwards",
    "disk_full_shm": "needs a second server with a larger shm_limit",
    "too_many_processes": "needs a limit of processes; tests/chaos/test_fork_bomb.py meets it",
    "exit_137": "needs a kill by the kernel for want of memory, and a larger machine",
    "exit_139": "needs two versions of a compiled package, of which one crashes",
    "exit_247": "needs a kill by the kernel for want of memory, and a larger machine",
}
