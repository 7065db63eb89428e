"""Training data in object stores: records, lines, whole files; from threads; several at once."""

from collections.abc import Sequence
from typing import Any

import pytest


def write_records(tf: Any, path: str, texts: Sequence[bytes]) -> None:
    with tf.io.TFRecordWriter(path) as writer:
        for text in texts:
            writer.write(text)


def test_records_are_read_as_they_were_written(tf2: Any, bucket: str) -> None:
    texts = [b"%d" % number * 50 for number in range(5000)]
    write_records(tf2, f"{bucket}/a.tfrecord", texts)
    assert [text.numpy() for text in tf2.data.TFRecordDataset(f"{bucket}/a.tfrecord")] == texts


def test_compressed_records(tf2: Any, bucket: str) -> None:
    with tf2.io.TFRecordWriter(f"{bucket}/a.gz", "GZIP") as writer:
        writer.write(b"text")
    found = list(tf2.data.TFRecordDataset(f"{bucket}/a.gz", "GZIP"))
    assert [text.numpy() for text in found] == [b"text"]


def test_eight_files_are_read_at_once(tf2: Any, bucket: str) -> None:
    wanted = set()
    for shard in range(8):
        texts = [b"%d-%d" % (shard, number) * 20 for number in range(2000)]
        write_records(tf2, f"{bucket}/train-{shard}", texts)
        wanted.update(texts)
    files = tf2.data.Dataset.list_files(f"{bucket}/train-*")
    records = files.interleave(
        tf2.data.TFRecordDataset, cycle_length=8, num_parallel_calls=8
    ).prefetch(10)
    assert {text.numpy() for text in records} == wanted
    together = tf2.data.TFRecordDataset(tf2.io.gfile.glob(f"{bucket}/train-*"), None, None, 8)
    assert {text.numpy() for text in together} == wanted


def test_lines_and_fixed_records(tf2: Any, bucket: str) -> None:
    with tf2.io.gfile.GFile(f"{bucket}/a.csv", "w") as file:
        file.write("1,2\n3,4\n")
    lines = tf2.data.TextLineDataset(f"{bucket}/a.csv").skip(1)
    assert [line.numpy() for line in lines] == [b"3,4"]
    pieces = tf2.data.FixedLengthRecordDataset(f"{bucket}/a.csv", 4)
    assert [piece.numpy() for piece in pieces] == [b"1,2\n", b"3,4\n"]


def test_a_file_is_read_and_written_by_operations(tf2: Any, bucket: str) -> None:
    tf2.io.write_file(f"{bucket}/folder/a", "text")
    assert tf2.io.read_file(f"{bucket}/folder/a").numpy() == b"text"
    assert tf2.io.matching_files(f"{bucket}/folder/*").numpy() == [f"{bucket}/folder/a".encode()]


def test_many_threads_of_python_write_and_read(tf2: Any, bucket: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def round_trip(number: int) -> str:
        path = f"{bucket}/threads/{number}"
        with tf2.io.gfile.GFile(path, "w") as file:
            file.write(f"{number} " * 1000)
        return str(tf2.io.gfile.GFile(path).read())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(round_trip, range(64))) == [f"{n} " * 1000 for n in range(64)]
    assert len(tf2.io.gfile.listdir(f"{bucket}/threads")) == 64


def test_an_error_in_a_pipeline_is_the_stores(tf2: Any, bucket: str) -> None:
    with pytest.raises(tf2.errors.NotFoundError, match="no file and no directory"):
        list(tf2.data.TFRecordDataset([f"{bucket}/none"]).prefetch(1))


def test_queues_of_the_first_generation(tf: Any, bucket: str) -> None:
    texts = [b"one", b"two", b"three"]
    write_records(tf, f"{bucket}/a.tfrecord", texts)
    names = tf.train.string_input_producer([f"{bucket}/a.tfrecord"], num_epochs=1, shuffle=False)
    _, record = tf.TFRecordReader().read(names)
    batch = tf.train.batch([record], 3)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert list(session.run(batch)) == texts
        coordinator.request_stop()
        coordinator.join(threads)


def test_pictures_by_whole_file_reader(tf: Any, bucket: str) -> None:
    picture = tf.constant([[[0], [255]]], tf.uint8)
    with tf.Session() as session:
        session.run(tf.write_file(f"{bucket}/a.png", tf.image.encode_png(picture)))
        read = tf.image.decode_png(tf.read_file(f"{bucket}/a.png"))
        assert session.run(read).tolist() == [[[0], [255]]]


def test_records_by_the_iterator_of_python(tf: Any, bucket: str) -> None:
    write_records(tf, f"{bucket}/a.tfrecord", [b"one", b"two"])
    assert list(tf.python_io.tf_record_iterator(f"{bucket}/a.tfrecord")) == [b"one", b"two"]


def test_a_file_is_memory_of_an_operation(tf2: Any, bucket: str) -> None:
    tf2.io.write_file(f"{bucket}/numbers", bytes([1, 2, 3]))
    found = tf2.raw_ops.ImmutableConst(
        dtype=tf2.uint8, shape=[3], memory_region_name=f"{bucket}/numbers"
    )
    assert found.numpy().tolist() == [1, 2, 3]
