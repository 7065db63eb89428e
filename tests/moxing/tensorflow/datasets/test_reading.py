"""Readers, caches, shares of workers, and batches made by mox.run."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def dataset_of(folder: str, **options: Any) -> Any:
    import moxing.tensorflow as mox

    meta = mox.ImageClassificationRawMetadata(folder)
    return mox.ImageClassificationRawDataset(meta, num_epochs=1, shuffle=False, **options)


def shades(found: list[Any]) -> list[int]:
    return [int(one[0][0, 0, 0]) for one in found]


def test_readers_give_the_same_images(tf: Any, flowers: str, all_of: Any) -> None:
    import moxing.tensorflow as mox
    from moxing.tensorflow.datasets import ParallelReader

    class Own(ParallelReader):
        pass

    for reader in (mox.AsyncRawGenerator, ParallelReader, Own):
        dataset = dataset_of(flowers, reader_class=reader, reader_kwargs={"capacity": 4})
        assert shades(all_of(dataset.get(["image"]))) == [30, 40, 50, 10, 20]
    with pytest.raises(ValueError, match="num_readers must be a whole number of at least 1, got 0"):
        dataset_of(flowers, reader_class=mox.AsyncRawGenerator, num_readers=0)


def test_files_are_copied_once_and_read_from_there(
    tf: Any, flowers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, all_of: Any
) -> None:
    from moxing.framework import file

    cache = tmp_path / "cache"
    monkeypatch.setenv("DLS_LOCAL_CACHE_PATH", str(cache))
    dataset = dataset_of(flowers, cache_dir="ENV", remove_cache_on_finish=False)

    assert shades(all_of(dataset.get(["image"]))) == [30, 40, 50, 10, 20]
    (copies,) = cache.iterdir()
    assert sorted(os.listdir(copies / "daisy")) == ["1.png", "3.png", "big.jpg"]
    file.remove(f"{flowers}/daisy/1.png")
    assert shades(all_of(dataset.get(["image"]))) == [30, 40, 50, 10, 20]


def test_records_are_copied_too(
    tf: Any, tmp_path: Path, top: str, write_records: Any, all_of: Any
) -> None:
    from moxing.tensorflow.datasets import BaseTFRecordDataset, BaseTFRecordMetadata

    write_records(top, {"a": [{"n": 1}], "b": [{"n": 2}]})
    dataset = BaseTFRecordDataset(
        BaseTFRecordMetadata(top, "*"),
        ["n"],
        [tf.FixedLenFeature([], tf.int64)],
        num_epochs=1,
        cache_dir=str(tmp_path / "cache"),
        remove_cache_on_finish=False,
    )

    assert sorted(all_of(dataset.get(["n"]))) == [[1], [2]]
    assert len(list((tmp_path / "cache").glob("*/*"))) == 2


@pytest.mark.parametrize("files", [1, 3])
def test_workers_share_a_data_set_where_asked(
    tf: Any, garden: str, tmp_path: Path, write_records: Any, all_of: Any, files: int
) -> None:
    import moxing.tensorflow as mox
    from moxing.tensorflow.datasets import BaseTFRecordDataset, BaseTFRecordMetadata

    write_records(
        str(tmp_path / "n"),
        {str(file): [{"n": file + files * k} for k in range(6 // files)] for file in range(files)},
    )
    mox.set_flag("worker_hosts", "a:1,b:1")
    seen: dict[bool, list[Any]] = {True: [], False: []}
    for worker in (0, 1):
        mox.set_flag("task_index", worker)
        for shard in (True, False):
            records = BaseTFRecordDataset(
                BaseTFRecordMetadata(str(tmp_path / "n"), "*"),
                ["n"],
                [tf.FixedLenFeature([], tf.int64)],
                num_epochs=1,
                shard=shard,
            )
            images = dataset_of(garden, shard=shard)
            numbers = [int(one[0]) for one in all_of(records.get(["n"]))]
            seen[shard].append((numbers, shades(all_of(images.get(["image"])))))

    (first, second), (whole, again) = seen[True], seen[False]
    assert sorted(first[0] + second[0]) == sorted(whole[0]) == sorted(again[0]) == [*range(6)]
    assert first[0]
    assert second[0]
    assert (first[1], second[1]) == ([30, 10], [40, 20])
    assert whole[1] == again[1] == [30, 40, 10, 20]


def test_mox_run_makes_batches_of_it_without_queue(tf: Any, flowers: str) -> None:
    """MoXing manual, section 3.1: resized in input_fn, batched by mox.run."""
    from moxing.tensorflow.executor.pipeline.batches import batches

    with tf.Graph().as_default():
        image, label, name = dataset_of(flowers).get(["image", "label", "image_name"])
        image = tf.image.resize_bilinear(tf.expand_dims(image, 0), [2, 2])
        image = tf.squeeze(image)
        image.set_shape([2, 2, 3])
        made = batches([image, label, name], batch_size=5, auto_batch=True, clones=1, mode="TRAIN")
        with tf.Session() as session:
            session.run(made.initializer)
            images, labels, names = session.run(made.per_clone[0])

    assert np.allclose(images[:, 0, 0, 0], [30, 40, 50, 10, 20], atol=1)
    assert labels.tolist() == [0, 0, 0, 1, 1]
    assert names.tolist() == [b"1.png", b"3.png", b"big.jpg", b"1.png", b"2.png"]


def test_file_list_is_not_in_graph(tf: Any, garden: str, own_temporary_files: Path) -> None:
    """A graph is written out with every checkpoint."""
    import gc

    with tf.Graph().as_default() as graph:
        dataset_of(garden).get(["image"])
        assert b"daisy/1.png" not in graph.as_graph_def().SerializeToString()
        assert len(list(own_temporary_files.glob("mox-list-*"))) == 1
    del graph
    gc.collect()

    assert list(own_temporary_files.glob("mox-list-*")) == []
