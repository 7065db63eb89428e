"""Images per second of MoXing's folder of images, beside a tf.data pipeline tuned by hand.

Both read, decode, resize and batch the same JPEG files; the one as ``input_fn`` of the manual
(section 3.1), batched by ``mox.run``'s own pipeline, the other in one parallel map. They take
turns in one process. CPU time of an image is reported too: it does not depend on what else the
machine does, and decides nothing. The bar is as many images per second, in the middle round. Most
of the time goes into decoding, which both do alike: rounds on a machine that has other work decide
by chance, so the load is reported as well.

    python bench/images.py [--rounds 5]     writes bench/results/images.json
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reports import Rounds, arguments, written

BAR = 1.0
CLASSES, OF_EACH, SIZE = 5, 80, (375, 500)
BATCH, BATCHES, WARM_UP, SIDE = 32, 24, 8, 224


def main() -> int:
    given = arguments(__doc__).parse_args()
    rounds = Rounds(given.rounds, given.seed)
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="", MOX_SILENT_MODE="1")
    with tempfile.TemporaryDirectory() as folder:
        write_images(Path(folder))
        rows = measure(folder, rounds)
    ratio = {name: middle(rows["mox"][name]) / middle(rows["by hand"][name]) for name in UNITS}
    written(
        "images",
        "images read, decoded, resized and batched in a second; rounds taken in turns",
        rounds,
        images=f"{CLASSES * OF_EACH} JPEG files of {SIZE[1]} x {SIZE[0]}, to {SIDE} x {SIDE}",
        batch=BATCH,
        bar=BAR,
        ratio={name: round(value, 3) for name, value in ratio.items()},
        tries=rows,
    )
    for name, row in rows.items():
        print(
            f"{name:8} {middle(row[SPEED]):7.0f} images/s {middle(row[COST]):7.0f} µs of CPU each"
        )
    print(f"ratio    {ratio[SPEED]:7.3f}          {ratio[COST]:7.3f}")
    return 0 if ratio[SPEED] >= BAR else 1


SPEED, COST = UNITS = ("images_per_second", "cpu_microseconds_per_image")
middle = statistics.median


def write_images(folder: Path) -> None:
    import numpy as np
    from PIL import Image

    chance = np.random.default_rng(0)
    for kind in range(CLASSES):
        (folder / f"kind_{kind}").mkdir()
        for number in range(OF_EACH):
            # Soft shapes with some noise: photographs have about so many bytes.
            shapes = Image.fromarray(chance.integers(0, 255, (24, 32, 3), dtype=np.uint8))
            soft = np.asarray(shapes.resize(SIZE[::-1], Image.Resampling.BICUBIC), np.int16)
            noisy = (soft + chance.integers(-12, 12, (*SIZE, 3))).clip(0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(folder / f"kind_{kind}" / f"{number}.jpg", quality=90)


def measure(folder: str, rounds: Rounds) -> dict[str, dict[str, list[float]]]:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    built = {}
    for name, build in {"by hand": by_hand, "mox": by_mox}.items():
        graph = tf.Graph()
        with graph.as_default(), tf.device("/cpu:0"):
            built[name] = (graph, *build(tf, folder))
    rows: dict[str, dict[str, list[float]]] = {name: {unit: [] for unit in UNITS} for name in built}
    for turns in rounds.turns(built):
        for name in turns:
            graph, begin, batch = built[name]
            # A session for each round: a pipeline that is not asked would go on reading ahead.
            with tf.Session(graph=graph) as session:
                session.run(begin)
                speed, cost = one_round(session, batch)
            rows[name][SPEED].append(round(speed, 1))
            rows[name][COST].append(round(cost, 1))
    return rows


def one_round(session: Any, batch: Any) -> tuple[float, float]:
    """Return images per second and µs of processor time of an image, once it runs steadily."""
    for _ in range(WARM_UP):
        session.run(batch)
    began, used = time.perf_counter(), time.process_time()
    for _ in range(BATCHES):
        session.run(batch)
    images = BATCH * BATCHES
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    return images / seconds, cpu / images * 1e6


def by_hand(tf: Any, folder: str) -> tuple[Any, Any]:
    kinds = sorted(os.listdir(folder))
    paths = [(f"{folder}/{kind}/{name}", kinds.index(kind)) for kind in kinds
             for name in sorted(os.listdir(f"{folder}/{kind}"))]  # fmt: skip
    files, labels = zip(*paths, strict=True)

    def one(path: Any, label: Any) -> Any:
        image = tf.image.decode_jpeg(tf.io.read_file(path), channels=3)
        image = tf.image.resize_bilinear(tf.expand_dims(image, 0), [SIDE, SIDE])
        return tf.reshape(image, [SIDE, SIDE, 3]), label

    auto = tf.data.experimental.AUTOTUNE
    data = tf.data.Dataset.from_tensor_slices((list(files), list(labels)))
    data = data.shuffle(len(paths)).repeat().map(one, num_parallel_calls=auto)
    data = data.batch(BATCH, drop_remainder=True).prefetch(auto)
    iterator = tf.data.make_initializable_iterator(data)
    image, _ = iterator.get_next()
    return iterator.initializer, image.op


def by_mox(tf: Any, folder: str) -> tuple[Any, Any]:
    import moxing.tensorflow as mox
    from moxing.tensorflow.executor.pipeline.batches import batches

    meta = mox.ImageClassificationRawMetadata(base_dir=folder)
    dataset = mox.ImageClassificationRawDataset(meta)
    image, label = dataset.get(["image", "label"])
    image = tf.expand_dims(image, 0)
    image = tf.image.resize_bilinear(image, [SIDE, SIDE])
    image = tf.squeeze(image)
    image.set_shape([SIDE, SIDE, 3])
    made = batches([image, label], batch_size=BATCH, auto_batch=True, clones=1, mode="TRAIN")
    return made.initializer, made.per_clone[0][0].op


if __name__ == "__main__":
    sys.exit(main())
