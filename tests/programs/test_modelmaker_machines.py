"""ModelMaker's files on two nodes, which may be killed: a chief that evaluates, a worker, a ps."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "modelmaker" / "line.py"


@pytest.fixture
def words(person):
    """The command that trains a line; the folder of its model is ``out``."""

    def put(name, *more, **params):
        code = person.folder / "code"
        code.mkdir()
        shutil.copy(SOURCE, code / "line.py")
        given = [word for pair in params.items() for word in ("-p", "{}={}".format(*pair))]
        return ("run", "code/line.py", "--output", "model=out", "--name", name, *more, *given)

    return put


@pytest.mark.services
def test_two_machines_train_one_model(person, words):
    person.types(*words("two", "--nodes", "2", passes=30, train_max_steps=None))

    log = person.types("logs", "two").stdout
    assert "[chief-0] [danlu] evaluation at step 120:" in log  # 30 times 64 rows by 16
    assert re.search(r"\[worker-0\] .*Loss for final step", log)
    assert "the exported model answers serving_default: y [16]" in log
    out = person.folder / "out"
    assert (out / "model.ckpt-120.index").exists()
    assert list(out.glob("export/best/*/saved_model.pb"))
    assert len(list(out.glob("events.*"))) == len(list(out.glob("eval/events.*"))) == 1


@pytest.mark.long
def test_steps_are_counted_over_all_machines(person, words):
    person.types(*words("counted", "--nodes", "2", passes=-1, train_max_steps=200))

    log = person.types("logs", "counted").stdout
    (step,) = re.findall(r"evaluation at step (\d+):", log)
    assert 200 <= int(step) <= 201  # the other machine was in a step of its own


@pytest.mark.long
def test_tensors_cannot_be_shared_among_machines(person, words):
    given = words("pair", "--nodes", "2", passes=1)
    file = person.folder / "code" / "line.py"
    pair = "return tf.data.make_one_shot_iterator(batches).get_next()"
    file.write_text(file.read_text().replace("return batches\n", f"{pair}\n"))

    person.types(*given, code=5)

    cause = person.asks("show", "pair")["cause"]["en"]
    assert "train_input_fn returned a pair (features, labels)" in cause


def kill_when_it_waits(person, words, name, task):
    """Kill the script of a task in the middle of the training; return the log of the job."""
    running = person.begins(*words)
    while "waiting to be killed" not in (line := running.stdout.readline()):
        assert line, running.communicate()
    for pid in person.processes_of(person.asks("show", name)):
        line = Path(f"/proc/{pid}/cmdline").read_text()
        if "launch.py" in line and f"/{task}/" in line:
            os.kill(pid, signal.SIGKILL)
    rest, output = running.communicate(timeout=100)
    assert running.returncode == 0, rest + output
    return person.types("logs", name).stdout


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("task", ["chief-0", "worker-0"])
def test_two_machines_resume_from_checkpoint_whichever_is_killed(person, words, task):
    given = words(
        *("lost", "--nodes", "2"),
        **{"passes": -1, "stop_at": 70, "train_max_steps": 90, "save_checkpoints_steps": 20},
    )

    rest = kill_when_it_waits(person, given, "lost", task)

    assert person.asks("show", "lost")["attempt"] == 2
    assert int(re.search(r"training continues from model.ckpt-(\d+)", rest)[1]) >= 20
    assert re.search(r"evaluation at step 9[01]:", rest)
