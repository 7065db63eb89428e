"""TI training scripts in plain Python, from the job file to model.tar.gz."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NAMED = Path(__file__).with_name("named_hosts.py")

TRAINS = """
import json, os, sys
print("argv", json.dumps(sys.argv[1:]))
print("types", {name: type(v).__name__ for name, v in json.loads(os.environ["TM_HPS"]).items()})
print("cwd", os.getcwd())
for channel in json.loads(os.environ["TM_CHANNELS"]):
    folder = os.environ["TM_CHANNEL_" + channel.upper()]
    print(channel, folder, open(os.path.join(folder, "x.txt")).read())
config = os.environ["TM_INPUT_CONFIG_DIR"]
for name in sorted(os.listdir(config)):
    print(name, sorted(json.load(open(os.path.join(config, name)))))
os.makedirs(os.environ["TM_MODEL_DIR"] + "/1")
with open(os.environ["TM_MODEL_DIR"] + "/1/weights", "w") as file:
    file.write("w")
with open(os.environ["SM_OUTPUT_DATA_DIR"] + "/metrics", "w") as file:
    file.write("m")
with open("/opt/ml/checkpoints/step-1", "w") as file:
    file.write("c")
"""


def submits(person, name, code=0, **fields):
    """Write a job file, submit it and follow it to its end; return its log."""
    job = {"dialect": "ti", "code": "code", "output_path": "cos://bucket/out", **fields}
    tables = {key: value for key, value in job.items() if isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(job[key])}" for key in job if key not in tables]
    for key, table in tables.items():
        lines += [f"[{key}]", *(f"{k} = {json.dumps(v)}" for k, v in table.items())]
    (person.folder / "job.toml").write_text("\n".join(lines), encoding="utf-8")
    person.types("submit", "job.toml", "--name", name)
    person.types("wait", name, code=code)
    return person.types("logs", name).stdout


def channel(person, name):
    folder = person.folder / name
    folder.mkdir()
    (folder / "x.txt").write_text(f"data of {name}")
    return str(folder)


def model_of(person, uri):
    path = person.folder / "fetched.tar.gz"
    person.types("store", "cp", uri, path)
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes())) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}


def test_script_finds_its_channels_and_leaves_its_outputs(person):
    person.script(TRAINS)

    log = submits(
        person,
        "mnist",
        channels={"train": channel(person, "train"), "test": channel(person, "test")},
        hyperparameters={"lr": 0.1, "epochs": 3, "flag": True, "name": "a b", "empty": ""},
    )

    words = ["--lr", "0.1", "--epochs", "3", "--flag", "True", "--name", "a b", "--empty"]
    assert f"argv {json.dumps(words)}\n" in log
    kinds = {"lr": "float", "epochs": "int", "flag": "bool", "name": "str", "empty": "str"}
    assert f"types {kinds}\n" in log
    assert "cwd /opt/ml/code\n" in log
    assert "train /opt/ml/input/data/train data of train\n" in log
    assert "test /opt/ml/input/data/test data of test\n" in log
    assert "inputdataconfig.json ['test', 'train']\n" in log
    output = "cos://bucket/out/mnist/output"
    assert model_of(person, f"{output}/model.tar.gz") == {"1/weights": b"w"}
    assert person.types("store", "cat", f"{output}/data/metrics").stdout == "m"
    assert person.types("store", "cat", f"{output}/checkpoints/step-1").stdout == "c"


def test_unnamed_channel_is_training(person):
    script = "import os\nprint(os.listdir(os.environ['TM_CHANNEL_TRAINING']))\n"
    person.script(script + "open('/opt/ml/model/w', 'w').close()\n")
    data = channel(person, "data")
    job = f'dialect = "ti"\ncode = "code"\ninputs = {json.dumps(data)}\n'
    (person.folder / "job.toml").write_text(job, encoding="utf-8")

    name = person.asks("submit", "job.toml")["name"]
    person.types("wait", name)

    assert "['x.txt']" in person.types("logs", name).stdout
    uri = f"cos://danlu-ti/{name}/output/model.tar.gz"
    assert model_of(person, uri) == {"w": b""}


def test_a_lost_attempt_goes_on_from_its_checkpoint(person):
    person.script(
        "import os, time\n"
        "path = '/opt/ml/checkpoints/step'\n"
        "start = int(open(path).read()) if os.path.exists(path) else 0\n"
        "print('starts at', start, 'with', os.listdir('/opt/ml/model'))\n"
        "open('/opt/ml/model/from-%d' % start, 'w').close()\n"
        "if start == 0:\n"
        "    open(path, 'w').write('7')\n"
        "    print('written', flush=True)\n"
        "    time.sleep(600)\n"
    )
    job = 'dialect = "ti"\ncode = "code"\noutput_path = "cos://bucket/out"\n'
    (person.folder / "job.toml").write_text(job)
    person.types("submit", "job.toml", "--name", "resumes")
    person.waits_for(lambda: "written" in person.types("logs", "resumes").stdout)

    (agent,) = person.home.glob("jobs/*/1/worker-0/agent.json")
    os.kill(json.loads(agent.read_text())["pid"], signal.SIGKILL)
    person.types("wait", "resumes")

    assert "starts at 7 with []\n" in person.types("logs", "resumes").stdout
    model = model_of(person, "cos://bucket/out/resumes/output/model.tar.gz")
    assert model == {"from-7": b""}


def test_failure_leaves_reason_and_partial_model(person):
    person.script(
        "import atexit, os\n"
        "atexit.register(lambda: print('left:', open('/opt/ml/output/failure').read()))\n"
        "open(os.environ['TM_MODEL_DIR'] + '/half', 'w').close()\n"
        "raise ValueError('bad rate')\n"
    )

    log = submits(person, "fails", code=5)

    assert "left: ValueError: bad rate\n" in log
    assert person.asks("show", "fails")["reason"] == "script_failed"
    assert model_of(person, "cos://bucket/out/fails/output/model.tar.gz") == {"half": b""}


def test_without_model_there_is_no_archive_with_note(person):
    person.script("print('nothing')\n")

    log = submits(person, "empty")

    assert "[danlu] model: /opt/ml/model is empty, so there is no model.tar.gz\n" in log


def test_instances_have_names_and_first_keeps_model(person):
    person.script(
        "import json, os\n"
        "host, hosts = os.environ['TM_CURRENT_HOST'], json.loads(os.environ['TM_HOSTS'])\n"
        "print('I am', host, 'of', hosts, 'TF_CONFIG' in os.environ)\n"
        "for folder in ('/opt/ml/model', '/opt/ml/output/data'):\n"
        "    open(folder + '/' + host, 'w').close()\n"
    )

    log = submits(person, "both", train_instance_count=2, cpus=0.5)

    for host in ("algo-1", "algo-2"):
        assert f"I am {host} of ['algo-1', 'algo-2'] False" in log
    output = "cos://bucket/out/both/output"
    assert model_of(person, f"{output}/model.tar.gz") == {"algo-1": b""}
    listed = person.types("store", "ls", "-r", output).stdout
    assert "data/algo-1" in listed
    assert "algo-2/data/algo-2" in listed


def test_instances_connect_by_name_on_one_port(person):
    person.script(NAMED.read_text())

    log = submits(person, "names", train_instance_count=2, cpus=0.5)

    for host in ("algo-1", "algo-2"):
        for name in ("algo-1", "algo-2"):
            assert f"{host} to {name} I am {name} 127." in log


def test_the_example_of_the_service_trains(person):
    shutil.copytree(EXAMPLES / "ti", person.folder / "example")
    make_data = person.folder / "example" / "make_data.py"
    data = person.folder / "example" / "data"
    subprocess.run([sys.executable, make_data, data, "--rows", "120"], check=True)

    person.types("submit", "example/job.toml", "--name", "irises", "--follow")

    assert "test accuracy " in person.types("logs", "irises").stdout
    output = person.folder / "example" / "output" / "irises" / "output"
    assert (output / "model.tar.gz").exists()
    assert json.loads((output / "data" / "metrics.json").read_text())["accuracy"] > 0.8
