"""What a path of the object store costs TensorFlow, beside the same on the disk, in one run.

Records are read by ``TFRecordDataset``, from the embedded store and from a folder: at least 80 % of
the disk's speed. A checkpoint is saved to the store, and saved to a folder and copied to the store:
at most 1.3 times the time. Both in turns, the best of the rounds counts.

    python bench/tffs.py [--rounds 5] [--megabytes 256]     writes bench/results/tffs.json
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports import Rounds, arguments, written

READ_BAR, SAVE_BAR = 0.8, 1.3
RECORD = 10_000  # bytes
FILES = 4
STORE = "obs://bench"


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--megabytes", type=int, default=256)
    given = parser.parse_args()
    rounds = Rounds(given.rounds, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(
            TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="", DANLU_HOME=f"{folder}/home"
        )
        rows = measure(Path(folder), rounds, given.megabytes)
    what = "seconds, best of the rounds; the embedded store beside a folder of the same disk"
    written("tffs", what, rounds, megabytes=given.megabytes, **rows)
    for name in ("read", "save"):
        print(f"{name}: {rows[name]['ratio']:.2f} (bar {rows[name]['bar']})")
    return 0 if rows["read"]["ratio"] >= READ_BAR and rows["save"]["ratio"] <= SAVE_BAR else 1


def measure(folder: Path, rounds: Rounds, megabytes: int) -> dict[str, dict[str, float]]:
    import tensorflow.compat.v1 as tf

    from danlu_runtime import tffs

    tf.disable_v2_behavior()
    tffs.register()
    local = folder / "local"
    local.mkdir()
    write_records(tf, local, megabytes << 20)
    reading = {
        "disk": lambda: read_records(tf, str(local)),
        "store": lambda: read_records(tf, STORE),
    }
    cases = {"read": reading, "save": saving(tf, folder, megabytes << 20)}
    read, save = best(rounds, cases).values()
    return {
        "read": {**read, "ratio": round(read["disk"] / read["store"], 3), "bar": READ_BAR},
        "save": {
            **save,
            "ratio": round(save["store"] / save["disk and copy"], 3),
            "bar": SAVE_BAR,
        },
    }


def best(
    rounds: Rounds, cases: dict[str, dict[str, Callable[[], None]]]
) -> dict[str, dict[str, float]]:
    """Return the best seconds of each way in each case."""
    seconds = {case: dict.fromkeys(ways, float("inf")) for case, ways in cases.items()}
    for turns in rounds.turns([(case, way) for case, ways in cases.items() for way in ways]):
        for case, way in turns:
            os.sync()  # the disk owes nothing of the one before
            began = time.perf_counter()
            cases[case][way]()
            seconds[case][way] = min(seconds[case][way], time.perf_counter() - began)
    return {
        case: {way: round(value, 4) for way, value in row.items()} for case, row in seconds.items()
    }


def write_records(tf: Any, local: Path, size: int) -> None:
    record = os.urandom(RECORD)
    for number in range(FILES):
        name = f"train-{number}.tfrecord"
        with tf.io.TFRecordWriter(str(local / name)) as writer:
            for _ in range(size // FILES // RECORD):
                writer.write(record)
        tf.io.gfile.copy(str(local / name), f"{STORE}/{name}")


def read_records(tf: Any, folder: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        files = [f"{folder}/train-{number}.tfrecord" for number in range(FILES)]
        records = tf.data.TFRecordDataset(files, num_parallel_reads=FILES)
        # Counted inside TensorFlow: a run for each record would measure that only.
        count = records.reduce(tf.constant(0, tf.int64), lambda total, _: total + 1)
        assert session.run(count) > 0


def saving(tf: Any, folder: Path, size: int) -> dict[str, Callable[[], None]]:
    weights = [tf.get_variable(f"weights{number}", [size // 16]) for number in range(4)]
    session = tf.Session()
    session.run(tf.group(*(weight.initializer for weight in weights)))
    saver = tf.train.Saver(max_to_keep=1)

    def to_store() -> None:
        saver.save(session, f"{STORE}/ckpt/model.ckpt", write_meta_graph=False)

    def to_disk_and_copy() -> None:
        """Copied by Python, from folder to folder: nothing of ours is in it."""
        saver.save(session, str(folder / "ckpt" / "model.ckpt"), write_meta_graph=False)
        shutil.copytree(folder / "ckpt", folder / "copied", dirs_exist_ok=True)

    return {"store": to_store, "disk and copy": to_disk_and_copy}


if __name__ == "__main__":
    sys.exit(main())
