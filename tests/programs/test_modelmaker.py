"""Files with ModelMaker's four functions, as far as they can be taken without TensorFlow."""

FOUR = """
import tensorflow as tf
def model_fn(features, labels, mode, params): pass
def train_input_fn(path, params): pass
def eval_input_fn(path, params): pass
def serving_input_receiver_fn(): pass
"""


def submits(person, name, text):
    person.script(text, "mnist.py")
    job = 'dialect = "modelmaker"\ncode = "code"\nmodel_file = "mnist.py"\n'
    (person.folder / "job.toml").write_text(job + "[parameters]\ntrain_max_steps = 10\n")
    person.types("submit", "job.toml", "--name", name)
    return person.asks("wait", name, code=5)


def test_a_missing_function_is_the_cause(person):
    ended = submits(person, "three", FOUR.replace("def eval_input_fn", "def evaluate"))

    assert ended["reason"] == "script_failed"
    assert "mnist.py does not define eval_input_fn." in ended["cause"]["en"]


def test_a_file_in_order_ends_with_the_sentence_of_what_is_not_there(person):
    ended = submits(person, "four", FOUR)

    assert (ended["state"], ended["reason"]) == ("failed", "script_failed")
    assert "needs the TensorFlow runtime, which is not there yet" in ended["cause"]["en"]
    assert "Traceback" not in person.types("logs", "four").stdout
