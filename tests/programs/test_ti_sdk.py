"""Whole programs of the TI SDK: a launcher of the user's, a script, a server, a model."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "ti"
BASE_ALONE = Path(__file__).parents[1] / "ti" / "base_package_only.py"

# The page's own program, with the full-width comma that stands in it.
LAUNCHER = """\
from ti.tensorflow import TensorFlow

role = 'TIONE_QCSRole'
line_estimator = TensorFlow(role=role,
                            train_instance_count=1,
                            train_instance_type='ML.GN8.3XLARGE112',
                            py_version='py3',
                            script_mode=True,
                            framework_version='1.14.0',
                            entry_point='train.py',
                            output_path="cos://bucket/models"，
                            source_dir='gpu/code')
line_estimator.fit('cos://bucket/points')

line_estimator.fit('cos://bucket/points', wait=False)
training_job_name = line_estimator.latest_training_job.name
print('went away from', training_job_name)

line_estimator = TensorFlow.attach(training_job_name=training_job_name)
print('the model is', line_estimator.model_data)
"""
# TensorFlow 1, with what a script has by the page: paths, the number of GPUs, main.
LINE = """\
import argparse
import csv
import os
import tensorflow as tf


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--steps', type=int, default=200)
    args = parser.parse_args()
    with open(os.path.join(os.environ['TM_CHANNEL_TRAINING'], 'points.csv')) as file:
        points = [(float(x), float(y)) for x, y in csv.reader(file)]
    print('version', tf.__version__, 'gpus', int(os.environ['TM_NUM_GPUS']))
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    slope = tf.get_variable('slope', [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(slope * x - y))
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, step)
    feed = {x: [p[0] for p in points], y: [p[1] for p in points]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(args.steps):
            session.run(train, feed)
        print('slope %.2f' % session.run(slope))
        model = os.path.join(os.environ['TM_MODEL_DIR'], 'model.ckpt')
        tf.train.Saver().save(session, model, step)
    with open(os.path.join(os.environ['TM_OUTPUT_DATA_DIR'], 'done'), 'w') as file:
        file.write('yes')


if __name__ == '__main__':
    main()
"""


def launches(person, program, *, code=0, env=(), before=()):
    """Run a program of the user's with plain Python and return what it printed."""
    path = person.folder / "launch.py"
    path.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *before, path],
        env={**person.env, **dict(env)},
        cwd=person.folder,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code == 0 else done.stdout + done.stderr


@contextlib.contextmanager
def begins(person, program, **streams):
    """Start a program of the user's; whatever happens, it is no more afterwards."""
    (person.folder / "launch.py").write_text(program, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "launch.py"], env=person.env, cwd=person.folder, text=True, **streams
    ) as client:
        try:
            yield client
        finally:
            client.kill()


def receives(client, line):
    """Read what a program prints up to a line, and return that."""
    received = []
    for text in client.stdout:
        received.append(text)
        if text == line:
            return received
    raise AssertionError(f"{line!r} was not printed, but: {received}")


def code(person, text, folder="code"):
    path = person.folder / folder / "train.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def files(person, folder, **texts):
    (person.folder / folder).mkdir()
    for name, text in texts.items():
        (person.folder / folder / name).write_text(text)


def model_of(person, uri):
    path = person.folder / "fetched.tar.gz"
    person.types("store", "cp", uri, path)
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes())) as archive:
        return sorted(member.name for member in archive if member.isfile())


def test_program_of_page_runs_with_full_width_comma(person):
    """TI SDK, "Training TensorFlow models": construct, fit, leave, attach."""
    files(person, "points")
    (person.folder / "points" / "points.csv").write_text("1,3\n2,6\n-1,-3\n")
    person.types("store", "cp", "points", "cos://bucket/points/")
    code(person, LINE, "gpu/code")
    (person.folder / "launch.py").write_text(LAUNCHER, encoding="utf-8")

    output = person.types("python", "launch.py").stdout

    assert output.count("version 1.14.0 gpus 0\nslope 3.00\n") == 2
    assert "this machine has no GPU: the job runs on CPU" in output
    name = re.search(r"went away from (.+)\n", output)[1]
    uri = f"cos://bucket/models/{name}/output"
    assert output.endswith(f"the model is {uri}/model.tar.gz\n")
    assert "model.ckpt-200.index" in model_of(person, f"{uri}/model.tar.gz")
    assert person.types("store", "cat", f"{uri}/data/done").stdout == "yes"
    # Python itself knows no such comma, and the file is as it was.
    assert "，" in (person.folder / "launch.py").read_text(encoding="utf-8")


def test_a_script_for_tensorflow_2_with_two_channels(person):
    code(
        person,
        "import os\n"
        "import tensorflow as tf\n"
        "def points(channel):\n"
        "    path = os.path.join(os.environ['SM_CHANNEL_' + channel], 'x.csv')\n"
        "    rows = [line.split(',') for line in open(path)]\n"
        "    return [tf.constant([float(row[i]) for row in rows]) for i in (0, 1)]\n"
        "slope = tf.Variable(0.0)\n"
        "x, y = points('TRAIN')\n"
        "for _ in range(100):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean((slope * x - y) ** 2)\n"
        "    slope.assign_sub(0.1 * tape.gradient(loss, slope))\n"
        "x, y = points('TEST')\n"
        "error = float(tf.reduce_mean((slope * x - y) ** 2))\n"
        "print('version', tf.__version__, 'eager', tf.executing_eagerly(), 'error %.3f' % error)\n"
        "module = tf.Module()\n"
        "module.slope = slope\n"
        "tf.saved_model.save(module, os.environ['SM_MODEL_DIR'] + '/1')\n",
    )
    for channel, text in (("train", "1,2\n2,4\n"), ("test", "5,10\n")):
        files(person, channel)
        (person.folder / channel / "x.csv").write_text(text)

    message = launches(
        person,
        "from ti.tensorflow import Tensorflow\n"
        "it = Tensorflow(entry_point='train.py', source_dir='code', framework_version='2.0.0')\n"
        "it.fit({'train': 'train', 'test': 'test'}, job_name='second')\n",
    )

    assert "version 2.0.0 eager True error 0.000\n" in message
    assert "1/saved_model.pb" in model_of(person, "cos://danlu-ti/second/output/model.tar.gz")


def test_the_first_fit_starts_a_server(person):
    code(person, "print('trained')\n")
    assert not person.asks("status")["running"]

    text = launches(
        person,
        "from ti.tensorflow import TensorFlow\n"
        "TensorFlow(entry_point='train.py', source_dir='code').fit()\n",
    )

    assert "trained\n" in text
    assert person.asks("status")["running"]


def test_two_instances_are_two_tasks_with_names(person):
    person.home.mkdir(exist_ok=True)
    (person.home / "settings.toml").write_text('[flavors."TEAM.HALF"]\ncpus = 0.5\n')
    code(
        person,
        "import json, os\n"
        "hosts = json.loads(os.environ['TM_HOSTS'])\n"
        "config = json.load(open('/opt/ml/input/config/resourceconfig.json'))\n"
        "assert config['hosts'] == hosts\n"
        "assert config['current_host'] == os.environ['SM_CURRENT_HOST']\n"
        "print('I am', config['current_host'], 'of', hosts)\n",
    )

    message = launches(
        person,
        "from ti.tensorflow import TensorFlow\n"
        "it = TensorFlow(entry_point='train.py', source_dir='code', instance_count=2,\n"
        "                instance_type='TEAM.HALF')\n"
        "it.fit(job_name='both')\n",
    )

    for number in (1, 2):
        text = f"[worker-{number - 1}] I am algo-{number} of ['algo-1', 'algo-2']\n"
        assert text in message
        assert re.search(rf"both: \[worker-{number - 1}\] queued .* run ", message)


def test_a_parameter_server_serves_master_and_worker(person):
    """TI SDK, distributed training: one ps on the first host, never the user's script."""
    code(
        person,
        "import json, os\n"
        "import tensorflow as tf\n"
        "config = json.loads(os.environ['TF_CONFIG'])\n"
        "cluster, task = tf.train.ClusterSpec(config['cluster']), config['task']\n"
        "master = task['type'] == 'master'\n"
        "server = tf.train.Server(cluster, task['type'], task['index'])\n"
        "own = '/job:%s/task:%d' % (task['type'], task['index'])\n"
        "with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=own)):\n"
        "    step = tf.train.get_or_create_global_step()\n"
        "    total = tf.get_variable('total', [], initializer=tf.zeros_initializer())\n"
        "    train = tf.group(tf.assign_add(total, 1.0), tf.assign_add(step, 1))\n"
        "hooks = [tf.train.StopAtStepHook(last_step=40)]\n"
        "own = tf.ConfigProto(device_filters=['/job:ps', own])\n"
        "with tf.train.MonitoredTrainingSession(\n"
        "        server.target, master, hooks=hooks, config=own) as session:\n"
        "    while not session.should_stop():\n"
        "        session.run(train)\n"
        "print('done as', task['type'], 'variables on', total.device)\n",
    )

    text = launches(
        person,
        "from ti.tensorflow import TensorFlow\n"
        "it = TensorFlow(entry_point='train.py', source_dir='code', framework_version='1.14',\n"
        "                train_instance_count=2, train_instance_type='local',\n"
        "                distributions={'parameter_server': {'enabled': True}})\n"
        "it.fit()\n",
    )

    for role in ("[worker-0] done as master", "[worker-1] done as worker"):
        assert f"{role} variables on /job:ps/task:0" in text
    assert "[ps-0] done" not in text


PROGRAM = """\
import os, time
for number in range(100):
    print('line', number, flush=True)
    if number == 2:
        while not os.path.exists({gate!r}):
            time.sleep(0.05)
open(os.environ['TM_MODEL_DIR'] + '/weights', 'w').close()
"""


def test_attach_continues_after_client_and_server_were_killed(person):
    gate = person.folder / "gate"
    code(person, PROGRAM.format(gate=str(gate)))
    program = (
        "from ti.tensorflow import TensorFlow\n"
        "TensorFlow(entry_point='train.py', source_dir='code').fit(job_name='orphan')\n"
    )
    with begins(person, program, stdout=subprocess.PIPE) as client:
        assert "line 1\n" in receives(client, "line 2\n")
        client.kill()
    person.kills_server()
    gate.touch()
    text = launches(
        person,
        "from ti.tensorflow import TensorFlow\n"
        "found = TensorFlow.attach(training_job_name='orphan')\n"
        "print('then', found.latest_training_job.status, found.model_data)\n",
    )

    assert [line for line in text.splitlines() if line.startswith("line")] == [
        f"line {number}" for number in range(100)
    ]
    uri = "cos://danlu-ti/orphan/output/model.tar.gz"
    assert f"then Completed {uri}\n" in text
    assert model_of(person, uri) == ["weights"]


def test_an_interrupt_detaches_and_the_job_goes_on(person):
    code(person, "import time\nprint('begun', flush=True)\ntime.sleep(600)\n")
    program = (
        "from ti.tensorflow import TensorFlow\n"
        "TensorFlow(entry_point='train.py', source_dir='code').fit(job_name='left')\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with begins(person, program, **pipes) as client:
        receives(client, "begun\n")
        client.send_signal(signal.SIGINT)
        output, reported = client.communicate(timeout=60)

    assert "attach(training_job_name='left')" in output
    assert reported.rstrip().endswith("KeyboardInterrupt")
    assert person.asks("show", "left")["state"] == "running"


@pytest.mark.smoke
def test_failing_script_ends_program_with_its_own_traceback(person):
    code(person, "def load(path):\n    return open(path)\n\nload('/opt/ml/input/data/none')\n")

    text = launches(
        person,
        "from ti.tensorflow import TensorFlow\n"
        "TensorFlow(entry_point='train.py', source_dir='code').fit()\n",
        code=1,
    )

    last = text[text.index("ti.exceptions.TrainingFailed: ") :]
    assert '  File "train.py", line 2, in load\n    return open(path)\n' in last
    assert "FileNotFoundError: " in last
    assert "Next: danlu " in last


ONLY_SM = """\
import json, os
env = {name: value for name, value in os.environ.items() if name.startswith('SM_')}
for name in ('SM_MODEL_DIR', 'SM_CHANNEL_TRAIN', 'SM_OUTPUT_DATA_DIR', 'SM_INPUT_DIR',
             'SM_OUTPUT_INTERMEDIATE_DIR', 'SM_INPUT_CONFIG_DIR', 'SM_MODULE_DIR'):
    assert os.path.isdir(env[name]), name
for name in ('SM_CHANNELS', 'SM_HPS', 'SM_HOSTS', 'SM_USER_ARGS', 'SM_RESOURCE_CONFIG',
             'SM_INPUT_DATA_CONFIG', 'SM_TRAINING_ENV', 'SM_FRAMEWORK_PARAMS'):
    json.loads(env[name])
for name in ('SM_NUM_GPUS', 'SM_NUM_CPUS', 'SM_LOG_LEVEL'):
    int(env[name])
print(env['SM_CHANNELS'], env['SM_HPS'], env['SM_HP_LR'], env['SM_CURRENT_HOST'])
training = json.loads(env['SM_TRAINING_ENV'])
assert training['channel_input_dirs'] == {'train': env['SM_CHANNEL_TRAIN']}
with open(env['SM_CHANNEL_TRAIN'] + '/x') as file:
    print('data', file.read())
with open(env['SM_MODEL_DIR'] + '/weights', 'w') as file:
    file.write('1')
"""


def test_sagemaker_script_finds_everything_it_needs(person):
    code(person, ONLY_SM)
    files(person, "points", x="7")

    text = launches(
        person,
        "from ti.tensorflow import TensorFlow\n"
        "given = {'b': 1, 'lr': 0.5}\n"
        "it = TensorFlow(entry_point='train.py', source_dir='code', hyperparameters=given)\n"
        "it.fit({'train': 'points'}, job_name='twin')\n",
    )

    assert '["train"] {"b":1,"lr":0.5} 0.5 algo-1\ndata 7\n' in text
    assert model_of(person, "cos://danlu-ti/twin/output/model.tar.gz") == ["weights"]


STRICT = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--learning-rate', type=float, required=True)
parser.add_argument('--layers')
parser.add_argument('--verbose', action='store_true')
print('parsed', vars(parser.parse_args()))
"""


@pytest.mark.smoke
def test_strict_parser_gets_no_unknown_arguments(person):
    code(person, STRICT)

    text = launches(
        person,
        "from ti.tensorflow import TensorFlow\n"
        "given = {'learning-rate': 1e-4, 'layers': [8, 4], 'verbose': '', 'ti_ours': 1}\n"
        "it = TensorFlow(entry_point='train.py', source_dir='code', hyperparameters=given)\n"
        "it.fit()\n",
    )

    parsed = {"learning_rate": 0.0001, "layers": "[8, 4]", "verbose": True}
    assert f"parsed {parsed}\n" in text


REMOTE = """\
import sys
from ti.exceptions import InvalidArguments
from ti.session import Session
from ti.tensorflow import TensorFlow

session = Session(server=sys.argv[1], token=sys.argv[2]) if sys.argv[1:] else Session()
it = TensorFlow(entry_point='train.py', source_dir='code', ti_session=session)
it.fit({'train': 'points', 'one': 'points/x'})
it.output_path = 'here'
try:
    it.fit()
except InvalidArguments as error:
    print('refused', error)
"""


@pytest.fixture
def elsewhere(person, tmp_path):
    """A server of another user, and the settings to reach it."""
    up = person.asks("up", "--port", "0")
    return {"DANLU_SERVER": up["url"], "DANLU_TOKEN": up["token"]}


def test_a_server_elsewhere_is_sent_code_and_data(person, elsewhere, tmp_path):
    """With the base package alone: no TensorFlow, no NumPy, no pydantic, no httpx."""
    code(
        person,
        "import os\n"
        "for name in ('TRAIN', 'ONE'):\n"
        "    folder = os.environ['TM_CHANNEL_' + name]\n"
        "    print(name, sorted(os.path.relpath(os.path.join(at, file), folder)\n"
        "          for at, _, found in os.walk(folder) for file in found))\n",
    )
    files(person, "points", x="7", **{".hidden.pyc": "8"})
    files(person, "others", y="9")
    (person.folder / "points" / "linked").symlink_to(person.folder / "others")
    (person.folder / "points" / "round").symlink_to(person.folder / "points")
    own = {"DANLU_HOME": str(tmp_path / "another home")}

    text = launches(person, REMOTE, env={**own, **elsewhere}, before=[BASE_ALONE])

    assert "TRAIN ['.hidden.pyc', 'linked/y', 'x']\nONE ['x']\n" in text
    assert "refused output_path: 'here' is on this machine" in text
    assert not (tmp_path / "another home").exists()
    again = subprocess.run(
        [sys.executable, "launch.py", *elsewhere.values()],
        env={**person.env, **own},
        cwd=person.folder,
        capture_output=True,
        text=True,
    )
    assert "ONE ['x']\n" in again.stdout, again.stderr


@pytest.mark.smoke
def test_a_wrong_token_is_reported_in_one_line(person, elsewhere, tmp_path):
    code(person, "print('never')\n")
    own = {"DANLU_HOME": str(tmp_path / "another home"), "DANLU_TOKEN": "wrong"}

    text = launches(
        person,
        "from ti.tensorflow import TensorFlow\n"
        "TensorFlow(entry_point='train.py', source_dir='code').fit()\n",
        env={**elsewhere, **own},
        code=1,
    )

    assert "danlu.errors.NotAllowed: " in text


CURVES = """\
import os, sys, time, types
sys.modules['tensorboard.compat.notf'] = types.ModuleType('notf')  # spares TensorFlow
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

writer = EventFileWriter('/opt/ml/checkpoints/logs')
for step in range(3):
    value = Summary.Value(tag='loss', simple_value=1.0 / (step + 1))
    writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))
    writer.flush()
while not os.path.exists({gate!r}):
    time.sleep(0.1)
writer.close()
"""


def test_tensorboard_shows_the_curves_and_ends_with_fit(person):
    gate = person.folder / "gate"
    code(person, CURVES.format(gate=str(gate)))
    person.env["DANLU_MIRROR_INTERVAL"] = "0.5"

    text = launches(
        person,
        "import json, threading, time, urllib.request\n"
        "from ti.tensorflow import TensorFlow, board\n"
        "def look():\n"
        "    while not urls: time.sleep(0.1)\n"
        "    ask = urls[0] + 'data/plugin/scalars/'\n"
        "    while True:\n"
        "        tags = json.load(urllib.request.urlopen(ask + 'tags'))\n"
        "        if tags: break\n"
        "        time.sleep(0.2)\n"
        "    (run,) = tags\n"
        "    url = ask + 'scalars?tag=loss&run=' + run\n"
        "    points = json.load(urllib.request.urlopen(url))\n"
        "    print('TensorBoard has', run, [point[1] for point in points])\n"
        f"    open({str(gate)!r}, 'w').close()\n"
        "urls = []\n"
        "found = board._url\n"
        "board._url = lambda process: urls.append(found(process)) or urls[0]\n"
        "threading.Thread(target=look, daemon=True).start()\n"
        "it = TensorFlow(entry_point='train.py', source_dir='code')\n"
        "it.fit(run_tensorboard_locally=True)\n"
        "try:\n"
        "    urllib.request.urlopen(urls[0])\n"
        "except OSError:\n"
        "    print('and has ended')\n",
    )

    assert re.search(r"TensorBoard: http://127\.0\.0\.1:\d+/\n", text)
    assert "TensorBoard has checkpoints/logs [0, 1, 2]\n" in text
    assert text.endswith("and has ended\n")


def test_the_notebook_of_the_example_runs(person):
    """Its code cells one after the other, as "Run all" does; it has nothing but Python in them."""
    shutil.copytree(EXAMPLE, person.folder / "example")
    notebook = json.loads((person.folder / "example" / "irises.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not [cell for cell in cells if re.search(r"^\s*[%!]", cell, re.MULTILINE)]
    program = "import os\nos.chdir('example')\n" + "\n".join(cells)

    text = launches(person, program)

    assert re.search(r"^test accuracy 0\.[89]|^test accuracy 1", text, re.MULTILINE)
    assert "Completed" in text


def test_on_a_terminal_one_line_moves(person):
    gate = person.folder / "gate"
    code(person, PROGRAM.format(gate=str(gate)))
    program = (
        "from ti.tensorflow import TensorFlow\n"
        "TensorFlow(entry_point='train.py', source_dir='code').fit(job_name='moving')\n"
    )
    screen, terminal = os.openpty()
    with begins(person, program, stdout=subprocess.DEVNULL, stderr=terminal) as client:
        os.close(terminal)
        with open(screen, "rb", buffering=0) as shown:
            seen = b""
            while not re.search(rb"moving: run +\d+\.\d s", seen):
                seen += shown.read(4096)
            gate.touch()
            assert client.wait(60) == 0
