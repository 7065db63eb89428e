"""The configuration of each process of a distributed training, and its share of the data."""

import json
import os
import subprocess
import sys
import threading

import pytest

from danlu.errors import Refused
from danlu.taskdir.exchange_dir import ExchangeDir, Launch
from danlu_runtime.modelmaker.evaluation import Evaluation
from danlu_runtime.modelmaker.machines import Part, as_evaluator, on_cards, part, share

CLUSTER = {"ps": ["a:1"], "chief": ["a:2"], "worker": ["b:2", "c:2"]}


@pytest.fixture(autouse=True)
def config(monkeypatch):
    def report(role, index=0):
        reported = {"cluster": CLUSTER, "task": {"type": role, "index": index}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(reported))

    report("chief")
    return report


@pytest.mark.parametrize(
    ("role", "index", "number"), [("chief", 0, 0), ("worker", 0, 1), ("worker", 1, 2)]
)
def test_chief_is_the_first_training_task(config, role, index, number):
    config(role, index)

    assert part() == Part(role, index, 3)
    assert part().number == number


def test_without_a_cluster_there_are_no_parts(monkeypatch):
    monkeypatch.delenv("TF_CONFIG")

    assert part() is None


def test_evaluator_gets_the_same_cluster():
    assert json.loads(as_evaluator()) == {
        "cluster": CLUSTER,
        "task": {"type": "evaluator", "index": 0},
    }


def batches(tf, mine, make):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(share(make, mine)())
        following = iterator.get_next()
        assert graph.seed is None
        session.run(iterator.initializer)
        found = []
        while True:
            try:
                found.append(tuple(session.run(following)))
            except tf.errors.OutOfRangeError:
                return found


@pytest.mark.unseeded
def test_together_they_go_through_data_once(tf):
    def make():
        return tf.data.Dataset.range(24).shuffle(24).batch(2)

    found = [batches(tf, Part("", number, 3), make) for number in range(3)]

    assert [len(each) for each in found] == [4, 4, 4]
    assert sorted(row for each in found for batch in each for row in batch) == list(range(24))


@pytest.mark.unseeded
def test_another_run_shuffles_otherwise(tf, monkeypatch):
    def make():
        return tf.data.Dataset.range(24).shuffle(24).batch(2)

    before = batches(tf, Part("chief", 0, 3), make)
    other = {"cluster": {**CLUSTER, "ps": ["a:9"]}, "task": {"type": "chief", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(other))

    assert batches(tf, Part("chief", 0, 3), make) != before


@pytest.mark.parametrize(
    ("found", "shown"),
    [(({}, 1), r"\(features, labels\)"), (None, "NoneType")],
)
def test_what_is_no_data_set_cannot_be_shared(tf, found, shown):
    with pytest.raises(Refused, match=f"train_input_fn returned {shown}, .* among 3 machines"):
        share(lambda: found, Part("chief", 0, 3))()
    with pytest.raises(Refused, match=f"train_input_fn returned {shown}, .* among 2 GPUs"):
        on_cards(lambda: found, 2)()


@pytest.mark.parametrize(
    ("shown", "total", "last"),
    [("", 100, 100), ("0", 100, 100), ("0,1,2,3", 100, 25), ("0,1", 1, 1), ("0,1", None, None)],
)
def test_last_step_counts_steps_of_all_gpus(tf, monkeypatch, shown, total, last):
    from danlu_runtime.modelmaker.training import last_step

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)

    assert last_step({"train_max_steps": total}) == last


class Checkpoints:
    """An Estimator whose checkpoints come when the test wants."""

    model_dir = "/nowhere"

    def __init__(self):
        self.latest = None
        self.evaluated = []
        self.seen = threading.Event()

    def latest_checkpoint(self):
        return self.latest

    def evaluate(self, checkpoint_path, **_):
        self.evaluated.append(checkpoint_path)
        self.seen.set()
        return {"global_step": int(checkpoint_path), "loss": 1 / len(self.evaluated)}


def test_evaluator_waits_for_last_checkpoint(tf):
    from danlu_runtime.modelmaker.training import evaluate

    model, over, metrics = Checkpoints(), threading.Event(), {}
    spec = tf.estimator.EvalSpec(lambda: None, start_delay_secs=0, throttle_secs=3600)

    def run():
        metrics.update(evaluate(model, spec, over))

    model.latest = "10"
    thread = threading.Thread(target=run)
    thread.start()
    model.seen.wait(100)
    model.latest = "30"
    over.set()
    thread.join(100)

    assert model.evaluated == ["10", "30"]
    assert metrics["global_step"] == 30


def test_first_evaluation_waits_for_eval_start_delay_secs(tf):
    from danlu_runtime.modelmaker.training import evaluate

    model, waited = Checkpoints(), []
    model.latest = "10"

    class Over(threading.Event):
        """The training ends while the evaluator waits for the first time."""

        def wait(self, timeout=None):
            waited.append((timeout, list(model.evaluated)))
            self.set()
            return True

    spec = tf.estimator.EvalSpec(lambda: None, start_delay_secs=120, throttle_secs=3600)
    evaluate(model, spec, Over())

    assert waited == [(120, [])]
    assert model.evaluated == ["10"]


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """Start a script where the evaluator would be."""

    def start(text):
        script = tmp_path / "code" / "model.py"
        script.parent.mkdir()
        script.write_text(text)
        box = ExchangeDir(tmp_path / "box")
        box.write_launch(Launch(str(script), (), False, (), str(script.parent)))
        monkeypatch.setenv("DANLU_BOX", str(box.folder))
        return Evaluation("", "")

    return start


def test_the_chief_reports_why_the_evaluation_failed(beside):
    with beside("import sys\nsys.stdin.read()\nnothing\n") as evaluation:
        evaluation.check()
        with pytest.raises(Refused, match=r"NameError: .*'nothing'.* \(model\.py:3\)"):
            evaluation.finish()


def test_an_evaluator_that_is_killed_is_started_anew(beside, tmp_path, capfd):
    script = f"""
import os, signal, sys
sys.stdin.read()
if not os.path.exists({str(tmp_path / "second")!r}):
    open({str(tmp_path / "second")!r}, "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
print("evaluated as", os.environ["TF_CONFIG"][-36:])
"""
    with beside(script) as evaluation:
        evaluation.finish()

    output = capfd.readouterr()
    assert "ended by signal 9 and is restarted" in output.err
    assert '"type": "evaluator"' in output.out


def test_repeatedly_killed_evaluator_ends_the_chief(beside):
    """The job is tried again then: no fault of the functions."""
    with (
        beside("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)") as evaluation,
        pytest.raises(SystemExit) as ended,
    ):
        evaluation.finish()

    assert ended.value.code == 137


def test_an_evaluator_that_crashes_is_a_failure(beside):
    with (
        beside("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)") as evaluation,
        pytest.raises(Refused, match=r"The evaluation failed: .*signal 11"),
    ):
        evaluation.finish()


def test_evaluator_failing_while_listening_reports_error(beside):
    script = """
from danlu_runtime.modelmaker.evaluation import training_is_over
training_is_over()
raise ValueError("no such row")
"""
    with (
        beside(script) as evaluation,
        pytest.raises(Refused, match=r"ValueError: no such row \(model\.py:4\)"),
    ):
        ask_until_it_has_ended(evaluation)


def ask_until_it_has_ended(evaluation):
    while True:
        evaluation.check()


@pytest.mark.parametrize(("reported", "code"), [(b"over", 0), (b"", 1)])
def test_an_evaluator_whose_chief_is_gone_ends(reported, code):
    script = """
from danlu_runtime.modelmaker.evaluation import training_is_over
raise SystemExit(not training_is_over().wait(60))
"""
    done = subprocess.run([sys.executable, "-c", script], input=reported, check=False)

    assert done.returncode == code


def test_the_chief_leaves_no_evaluator_behind(beside, tmp_path):
    os.mkfifo(tmp_path / "pid")
    script = f"""
import os, time
with open({str(tmp_path / "pid")!r}, "w") as file: file.write(str(os.getpid()))
time.sleep(99)
"""
    with beside(script):
        pid = (tmp_path / "pid").read_text()

    assert not os.path.exists(f"/proc/{pid}")


def test_checkpoints_are_read_and_written_by_process_itself(tf, tmp_path):
    from danlu_runtime.modelmaker.machines import with_files_here

    config = with_files_here(tf.estimator.RunConfig(str(tmp_path)))
    with tf.Graph().as_default() as graph, tf.device(config.device_fn):
        weight = tf.get_variable("weight", [2], use_resource=True)
        tf.train.Saver(sharded=True)

    assert "job:ps" in weight.device
    files = {op.device for op in graph.get_operations() if op.type in ("SaveV2", "RestoreV2")}
    assert files == {"/job:chief/task:0/device:CPU:0"}
