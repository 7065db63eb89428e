"""The same on a service elsewhere: bytes come by blocks, and the service may refuse."""

from pathlib import Path
from typing import Any

from contracts.s3_server import SmallS3, endpoint, serve
from danlu.settings import Endpoint
from seaweed import Seaweed
from tls import trust

TRAIN = """
import hashlib, os, tensorflow as tf
names = ["obs://tensorflow/data/train-%d" % shard for shard in range(3)]
for name in names:
    with tf.python_io.TFRecordWriter(name) as writer:
        for number in range(300):
            writer.write(os.urandom(50000))
dataset = tf.data.TFRecordDataset(tf.gfile.Glob("obs://tensorflow/data/*"), num_parallel_reads=3)
size = dataset.reduce(tf.constant(0), lambda total, text: total + tf.strings.length(text))
weights = tf.get_variable("weights", [3000, 1000])
saver = tf.train.Saver(max_to_keep=1)
writer = tf.summary.FileWriter("obs://tensorflow/log", tf.get_default_graph())
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run(size))
    before = session.run(weights)
    for step in range(2):
        saver.save(session, "obs://tensorflow/ckpt//model.ckpt", step)
    tf.saved_model.simple_save(session, "obs://tensorflow/model/1", {"w": weights}, {"w": weights})
    session.run(weights.initializer)
    saver.restore(session, tf.train.latest_checkpoint("obs://tensorflow/ckpt"))
    print((session.run(weights) == before).all())
with tf.Session(graph=tf.Graph()) as session:
    tf.saved_model.loader.load(session, ["serve"], "obs://tensorflow/model/1")
    print((session.run("weights:0") == before).all())
tf.gfile.Rename("obs://tensorflow/model", "obs://tensorflow/renamed")
print(tf.gfile.ListDirectory("obs://tensorflow"), tf.gfile.ListDirectory("obs://tensorflow/ckpt"))
"""

REFUSED = """
import tensorflow as tf
print(tf.gfile.GFile("obs://tensorflow/there").read())
for path, mode in (("there", "w"), ("none", "r")):
    try:
        with tf.gfile.GFile("obs://tensorflow/" + path, mode) as file:
            file.write("x") if mode == "w" else file.read()
    except tf.errors.OpError as error:
        print(type(error).__name__)
"""


SAVED = """
import tensorflow as tf
weights = tf.get_variable("weights", [300, 10])
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(weights.initializer)
    before = session.run(weights)
    saver.save(session, "obs://tensorflow/ckpt/model.ckpt")
    session.run(weights.initializer)
    saver.restore(session, "obs://tensorflow/ckpt/model.ckpt")
    print((session.run(weights) == before).all())
"""


def variables(endpoint: Endpoint) -> dict[str, str]:
    """Return a service as the environment of a task names it."""
    return {
        "DANLU_OBS_ENDPOINT": endpoint.endpoint,
        "DANLU_OBS_ACCESS_KEY": str(endpoint.access_key),
        "DANLU_OBS_SECRET_KEY": str(endpoint.secret_key),
    }


def test_a_training_reads_and_writes_there(programs: Any, seaweed: Seaweed) -> None:
    storage = seaweed.bucket("tensorflow")
    output, _ = programs.run(TRAIN, **variables(seaweed.endpoint))
    kept = [
        "checkpoint",
        *(f"model.ckpt-1.{part}" for part in ("data-00000-of-00001", "index", "meta")),
    ]
    assert output.splitlines() == [
        str(3 * 300 * 50000),
        "True",
        "True",
        f"{['ckpt', 'data', 'log', 'renamed']} {kept}",
    ]
    assert not [entry.key for entry in storage.list() if "temp" in entry.key]
    assert any("events" in entry.key and entry.size for entry in storage.list("log/"))


def test_forbidden_operation_is_error_of_tensorflow(programs: Any, seaweed: Seaweed) -> None:
    seaweed.bucket("tensorflow").write("there", b"text")
    output, _ = programs.run(REFUSED, **variables(seaweed.reader))
    assert output.splitlines() == ["text", "PermissionDeniedError", "NotFoundError"]


def test_service_that_authority_of_ones_own_signed(programs: Any, tmp_path: Path) -> None:
    signed = trust(tmp_path)
    service = SmallS3("tensorflow")
    with serve(service, signed.server) as url:
        output, _ = programs.run(
            SAVED, **variables(endpoint(url)), DANLU_OBS_CA_BUNDLE=str(signed.authority)
        )
    assert output.splitlines() == ["True"]
    assert "ckpt/model.ckpt.index" in service.buckets["tensorflow"]
