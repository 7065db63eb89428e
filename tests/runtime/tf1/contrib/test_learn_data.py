"""tf.contrib.learn's data: CSV files, frames, queues and vocabularies."""

import pytest


def test_a_csv_without_a_header_is_read(tf, tmp_path):
    import numpy as np
    from tensorflow.contrib.learn.python.learn.datasets import base

    (tmp_path / "rows.csv").write_text("0,1.5,2.5\n1,3.5,4.5\n")

    found = base.load_csv_without_header(
        str(tmp_path / "rows.csv"), np.int64, np.float32, target_column=0
    )

    assert found.target.tolist() == [0, 1]
    assert found.data.tolist() == [[1.5, 2.5], [3.5, 4.5]]


def test_iris_has_150_flowers_of_three_kinds(tf):
    flowers = tf.contrib.learn.datasets.load_iris()

    assert flowers.data.shape == (150, 4)
    assert sorted(set(flowers.target.tolist())) == [0, 1, 2]
    assert tf.contrib.learn.datasets.load_dataset("iris").target.tolist() == flowers.target.tolist()


def test_nothing_is_downloaded(tf, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing is downloaded .* Fetch it from http://x"):
        tf.contrib.learn.datasets.base.maybe_download("a", str(tmp_path), "http://x")
    with pytest.raises(AttributeError, match="load_csv_with_header"):
        _ = tf.contrib.learn.datasets.base.load_boston


def test_a_vocabulary_maps_documents_to_rows_of_ids(tf, tmp_path):
    """The calls of dennybritz/cnn-text-classification-tf."""
    import numpy as np
    from tensorflow.contrib import learn

    processor = learn.preprocessing.VocabularyProcessor(4)
    documents = ["the cat sat", "the dog sat on the mat"]

    found = np.array(list(processor.fit_transform(documents)))

    assert found.tolist() == [[1, 2, 3, 0], [1, 4, 3, 5]]
    assert len(processor.vocabulary_) == 7
    assert next(processor.reverse(found)) == "the cat sat <UNK>"
    processor.save(str(tmp_path / "vocab"))
    restored = learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocab"))
    assert next(restored.transform(["the bird sat"])).tolist() == [1, 0, 3, 0]


def test_rare_words_are_dropped_and_ids_follow_frequency(tf):
    from tensorflow.contrib import learn

    processor = learn.preprocessing.VocabularyProcessor(5, min_frequency=1)

    processor.fit(["b a b c", "a b"])

    assert [processor.vocabulary_.get(word) for word in "bac"] == [1, 2, 0]


def test_a_vocabulary_counts_and_trims(tf):
    from tensorflow.contrib import learn

    words = learn.preprocessing.CategoricalVocabulary()
    for word in ("b", "a", "a", "c"):
        words.add(word)

    words.trim(0, max_frequency=2)
    words.freeze()

    assert (words.get("b"), words.get("c"), words.get("a")) == (1, 2, 0)
    assert words.reverse(2) == "c"


def test_categories_of_columns_have_ids_of_their_own(tf):
    from tensorflow.contrib import learn

    processor = learn.preprocessing.CategoricalProcessor()

    found = list(processor.fit_transform([("red", "big"), ("blue", ""), ("red", "small")]))

    assert [row.tolist() for row in found] == [[1, 1], [2, 0], [1, 2]]


def test_documents_may_be_bytes(tf):
    from tensorflow.contrib import learn

    processor = learn.preprocessing.ByteProcessor(4)

    found = list(processor.fit_transform(["abc", "abcdef"]))

    assert [row.tolist() for row in found] == [[97, 98, 99, 0], [97, 98, 99, 100]]
    assert list(processor.reverse(found)) == ["abc", "abcd"]


def test_frames_become_matrices(tf):
    import pandas as pd
    from tensorflow.contrib import learn

    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})

    assert learn.extract_pandas_data(frame).tolist() == [[1, 0.5], [2, 1.5]]
    assert learn.extract_pandas_matrix(frame).shape == (2, 2)
    assert learn.extract_pandas_labels(frame["a"]).tolist() == [1, 2]
    assert learn.extract_pandas_data([1]) == [1]
    with pytest.raises(ValueError, match="Only one column"):
        learn.extract_pandas_labels(frame)
    with pytest.raises(ValueError, match="must be int, float, or bool"):
        learn.extract_pandas_data(pd.DataFrame({"a": ["x"]}))


def test_examples_are_read_from_files_in_shuffled_batches(tf, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text("".join(f"{name}-{n}\n" for n in range(5)))
    batch = tf.contrib.learn.read_batch_examples(
        str(tmp_path / "*"), 4, tf.TextLineReader, num_epochs=1, queue_capacity=20
    )

    seen = []
    with tf.train.MonitoredSession() as session:
        while not session.should_stop():
            seen.extend(session.run(batch).tolist())

    assert sorted(seen) == sorted(f"{a}-{n}".encode() for a in ("one", "two") for n in range(5))


def test_a_pattern_without_files_is_refused(tf, tmp_path):
    with pytest.raises(ValueError, match="No files match"):
        tf.contrib.learn.read_batch_examples(str(tmp_path / "none*"), 4, tf.TextLineReader)


def test_fit_takes_dicts_and_iterators(tf):
    import numpy as np
    from tensorflow.contrib import layers, learn

    x = np.arange(8, dtype=np.float32).reshape(8, 1)
    columns = [layers.real_valued_column("a")]
    model = learn.LinearRegressor(columns)

    model.fit({"a": x}, x[:, 0], steps=2, batch_size=3)

    assert len(list(model.predict({"a": x}, batch_size=3))) == 8
    flat = learn.LinearRegressor([layers.real_valued_column("")])
    flat.fit(iter(x), iter(x[:, 0]), steps=2, batch_size=4)
    assert flat.get_variable_value("global_step") == 2
