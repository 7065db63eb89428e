"""tf.contrib.data, lookup, deprecated, summary and keras."""

import pytest


def run(tf, value):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(value)


def every_row(tf, dataset):
    following = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(following).tolist())
            except tf.errors.OutOfRangeError:
                return found


def test_last_rows_of_batch_may_be_dropped(tf):
    rows = tf.data.Dataset.range(5)

    assert every_row(tf, rows.apply(tf.contrib.data.batch_and_drop_remainder(2))) == [
        [0, 1],
        [2, 3],
    ]


def test_padded_batches_drop_the_remainder_too(tf):
    rows = tf.data.Dataset.range(1, 4).map(lambda n: tf.range(n))
    rows = rows.apply(tf.contrib.data.padded_batch_and_drop_remainder(2, [None]))

    assert every_row(tf, rows) == [[[0, 0], [0, 1]]]


def test_rows_of_several_sets_are_interleaved(tf):
    rows = tf.data.Dataset.range(2).apply(
        tf.contrib.data.sloppy_interleave(lambda n: tf.data.Dataset.from_tensors(n).repeat(2), 2)
    )

    assert sorted(every_row(tf, rows)) == [0, 0, 1, 1]


def test_shapes_are_asserted(tf):
    rows = tf.data.Dataset.from_generator(lambda: iter([[1, 2], [3, 4, 5]]), tf.int32)

    checked = rows.apply(tf.contrib.data.assert_element_shape([2]))

    assert checked.output_shapes.as_list() == [2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        every_row(tf, checked)


def test_a_reducer_gives_one_value(tf):
    reducer = tf.contrib.data.Reducer(
        lambda _: tf.constant(0, tf.int64), lambda a, b: a + b, lambda a: a
    )

    assert run(tf, tf.contrib.data.reduce_dataset(tf.data.Dataset.range(5), reducer)) == 10


def test_features_are_read_in_batches(tf, tmp_path):
    path = str(tmp_path / "rows")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(3):
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
            example = tf.train.Example(features=tf.train.Features(feature={"n": value}))
            writer.write(example.SerializeToString())

    batch = tf.contrib.data.read_batch_features(
        path, 3, {"n": tf.FixedLenFeature([], tf.int64)}, randomize_input=False, num_epochs=1
    )

    assert run(tf, batch["n"]).tolist() == [0, 1, 2]


def test_what_tf_data_no_longer_measures_is_refused(tf):
    with pytest.raises(AttributeError, match="Profiler"):
        _ = tf.contrib.data.StatsAggregator


def test_hash_table_has_op_that_fills_it(tf):
    keys = tf.contrib.lookup.KeyValueTensorInitializer(["a", "b"], [10, 20], tf.string, tf.int64)
    table = tf.contrib.lookup.HashTable(keys, -1)
    found = table.lookup(tf.constant(["b", "z"]))

    with tf.Session() as session:
        session.run(table.init)
        assert session.run(found).tolist() == [20, -1]


@pytest.mark.parametrize("dense", [False, True])
def test_a_mutable_table_takes_new_words(tf, dense):
    if dense:
        table = tf.contrib.lookup.MutableDenseHashTable(
            tf.int64, tf.int64, -1, empty_key=0, deleted_key=-2
        )
    else:
        table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1)
    insert = table.insert(tf.constant([5], tf.int64), tf.constant([50], tf.int64))
    found = table.lookup(tf.constant([5, 6], tf.int64))

    with tf.Session() as session:
        session.run(insert)
        assert session.run([found, table.size()])[0].tolist() == [50, -1]


def test_words_have_ids_without_table_of_scripts_own(tf, tmp_path):
    (tmp_path / "words").write_text("a\nb\n")
    from_file = tf.contrib.lookup.string_to_index_table_from_file(str(tmp_path / "words"))
    ids = tf.contrib.lookup.string_to_index(tf.constant(["b"]), ["a", "b"])
    words = tf.contrib.lookup.index_to_string_table_from_tensor(["a", "b"])

    assert run(tf, ids).tolist() == [1]
    assert run(tf, from_file.lookup(tf.constant(["a"]))).tolist() == [0]
    assert run(tf, words.lookup(tf.constant([0], tf.int64))).tolist() == [b"a"]


def test_summaries_of_before_1_0_take_tags(tf):
    old = tf.contrib.deprecated
    old.scalar_summary(["a", "b"], [1.0, 2.0])
    old.histogram_summary("h", [1.0, 3.0])
    old.image_summary("i", tf.zeros([1, 2, 3, 1]))
    old.audio_summary("s", tf.zeros([1, 8]), sample_rate=8000)

    merged = tf.Summary.FromString(run(tf, old.merge_all_summaries()))

    assert [v.tag for v in merged.value] == ["a", "b", "h", "i/image/0", "s/audio/0"]
    assert merged.value[1].simple_value == 2


def test_initialize_writes_the_graph(tf, tmp_path):
    writer = tf.contrib.summary.create_file_writer(str(tmp_path))
    with writer.as_default(), tf.contrib.summary.always_record_summaries(), tf.Session() as session:
        tf.train.create_global_step()
        tf.contrib.summary.generic("note", tf.constant("text"))
        session.run(tf.global_variables_initializer())
        tf.contrib.summary.initialize(graph=tf.get_default_graph(), session=session)
        session.run(tf.contrib.summary.all_summary_ops())
        session.run(tf.contrib.summary.flush())

    (path,) = tf.gfile.Glob(str(tmp_path / "events*"))
    events = list(tf.train.summary_iterator(path))
    assert any(event.graph_def for event in events)
    assert "note" in [value.tag for event in events for value in event.summary.value]


def test_nothing_is_written_while_nothing_records(tf, tmp_path):
    tf.train.create_global_step()
    writer = tf.contrib.summary.create_file_writer(str(tmp_path))
    with writer.as_default(), tf.contrib.summary.never_record_summaries():
        tf.contrib.summary.scalar("loss", tf.constant(1.0))

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.contrib.summary.summary_writer_initializer_op())
        session.run([*tf.contrib.summary.all_summary_ops(), writer.flush()])

    (path,) = tf.gfile.Glob(str(tmp_path / "events*"))
    assert not [event for event in tf.train.summary_iterator(path) if event.summary.value]


def test_keras_is_found_by_its_old_paths(tf):
    from tensorflow.contrib.keras.api.keras.models import Sequential
    from tensorflow.contrib.keras.python.keras.layers import Dense

    assert Sequential([Dense(2, input_shape=(3,))]).count_params() == 8
    assert tf.contrib.keras.layers.Dense is Dense
    with pytest.raises(AttributeError, match="scikeras"):
        _ = tf.contrib.keras.wrappers


def test_results_of_methods_have_iterators(tf):
    rows = tf.contrib.data.Dataset.range(4)
    windows = rows.group_by_window(lambda n: n % 2, lambda _, window: window.batch(2), 2)
    counted = rows.enumerate().map(lambda at, n: at + n)

    assert every_row(tf, windows) == [[0, 2], [1, 3]]
    assert every_row(tf, counted.take_while(lambda n: n < 3)) == [0, 2]
