"""What a program does with an element before it returns it: the same bits in all ways."""

import numpy as np
import pytest

DATASET = {"IteratorGetNext"}


def numbers(tf, count=20):
    return tf.data.Dataset.range(count).make_one_shot_iterator().get_next()


def pictures(tf, folder, count=12):
    """Write pictures of differing sizes; return their paths."""
    draw = np.random.RandomState(5)
    for number in range(count):
        size = (20 + number, 31 - number, 3)
        with tf.Session(graph=tf.Graph()) as session:
            data = session.run(tf.image.encode_jpeg(draw.randint(0, 255, size).astype(np.uint8)))
        (folder / f"{number}.jpg").write_bytes(data)
    return [str(folder / f"{number}.jpg") for number in range(count)]


def picture(tf, paths):
    data = tf.data.Dataset.from_tensor_slices((paths, np.arange(len(paths))))
    path, number = data.make_one_shot_iterator().get_next()
    return tf.image.decode_jpeg(tf.read_file(path), channels=3), number


def test_decoding_and_resizing(tf, runs, tmp_path):
    paths = pictures(tf, tmp_path)

    def input_fn():
        image, number = picture(tf, paths)
        image = tf.image.resize_images(image, [16, 16]) / 255.0
        return tf.image.per_image_standardization(image), tf.one_hot(number, 12)

    batches = runs.same(input_fn)
    assert batches[0][0].shape == (4, 16, 16, 3)
    assert runs.ways(input_fn) == DATASET


@pytest.mark.parametrize("level", ["graph", "operation"])
def test_augmentation_with_a_seed_draws_the_same_numbers(tf, runs, tmp_path, level):
    paths = pictures(tf, tmp_path)

    def input_fn():
        seed = 7 if level == "operation" else None
        if level == "graph":
            tf.set_random_seed(11)
        image, number = picture(tf, paths)
        image = tf.image.resize_images(image, [20, 20])
        image = tf.random_crop(image, [16, 16, 3], seed=seed)
        image = tf.image.random_flip_left_right(image, seed=seed)
        image = tf.image.random_brightness(image, 0.4, seed=seed)
        image = tf.image.random_saturation(image / 255, 0.5, 1.5, seed=seed)
        return image + tf.random_normal([16, 16, 3], seed=seed), number

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_box_drawn_from_size_of_picture(tf, runs, tmp_path):
    """The number drawn needs the decoded picture, and the cut needs the number."""
    paths = pictures(tf, tmp_path)

    def input_fn():
        image, number = picture(tf, paths)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.shape(image), bounding_boxes=[[[0.1, 0.2, 0.9, 0.8]]], seed=3
        )
        cut = tf.image.resize_images(tf.slice(image, begin, size), [8, 8])
        cut.set_shape([8, 8, 3])
        return cut, number, tf.random_shuffle(tf.range(5), seed=2)

    runs.same(input_fn)


def test_numbers_without_seed_differ_from_element_to_element(tf, runs):
    def input_fn():
        return numbers(tf), tf.random_uniform([3]), tf.random_normal([])

    (batch,) = runs.taken(input_fn, batch_size=20)[0]

    assert list(batch[0]) == list(range(20))
    assert len(np.unique(batch[1])) == 60
    assert len(np.unique(batch[2])) == 20
    assert runs.ways(input_fn) == DATASET


def test_one_unseeded_number_is_drawn_once(tf, runs):
    """It is drawn before the ordered part, and used in it and after it."""

    def input_fn():
        free = tf.random_uniform([])
        seeded = tf.random_uniform([], seed=1)
        kept = tf.py_func(lambda x: x, [free + seeded], tf.float32)
        kept.set_shape([])
        return free, seeded, kept, kept - free

    ((free, seeded, kept, rest),) = runs.taken(input_fn, 1)[0]

    assert len(np.unique(free)) == 4
    np.testing.assert_array_equal(kept, free + seeded)
    np.testing.assert_array_equal(rest, kept - free)


def test_python_sees_the_elements_in_order_and_once(tf, runs):
    seen = []

    def input_fn():
        before = len(seen)

        def note(value):
            seen.append(int(value))
            return np.float32(value / 3 + len(seen) - before)

        value = tf.py_func(note, [numbers(tf) * 2], tf.float32)
        value.set_shape([])
        return tf.sin(value)

    runs.same(input_fn)

    assert seen == 2 * list(range(0, 40, 2))


def test_python_that_only_must_have_run(tf, runs):
    seen = []

    def input_fn():
        x = numbers(tf)
        note = tf.py_func(lambda value: seen.append(int(value)), [x], [])
        with tf.control_dependencies([note]):
            return tf.cast(x, tf.float32) * tf.random_uniform([], seed=3)

    runs.same(input_fn)

    assert seen == 2 * list(range(20))


def test_eager_python(tf, runs):
    def input_fn():
        value = tf.py_function(lambda x: x * x, [numbers(tf)], tf.int64)
        value.set_shape([])
        return value

    runs.same(input_fn)


@pytest.mark.parametrize("new", [False, True], ids=["v1", "v2"])
def test_branches(tf, runs, new):
    def input_fn():
        (tf.enable_control_flow_v2 if new else tf.disable_control_flow_v2)()
        x = tf.cast(numbers(tf), tf.float32)
        y = tf.cond(x % 2 < 1, lambda: tf.sqrt(x), lambda: tf.cond(x > 9, lambda: -x, lambda: x))
        z = tf.case([(x < 3, lambda: x + 0.1), (x < 7, lambda: x + 0.2)], default=lambda: y)
        return y, z

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


@pytest.mark.parametrize("new", [False, True], ids=["v1", "v2"])
def test_numbers_drawn_in_one_branch_only(tf, runs, new):
    """How many are drawn depends on the elements: they must be drawn in their order."""

    def input_fn():
        (tf.enable_control_flow_v2 if new else tf.disable_control_flow_v2)()
        x = tf.cast(numbers(tf), tf.float32)
        y = tf.cond(x % 3 < 1, lambda: x + tf.random_uniform([], seed=4), lambda: x)
        return y, tf.random_uniform([2], seed=9)

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


@pytest.mark.parametrize("training", [False, True])
def test_numbers_are_drawn_in_constant_branches(tf, runs, training):
    def input_fn():
        x = tf.cast(numbers(tf), tf.float32)
        noise = tf.cond(tf.constant(training), lambda: tf.random_uniform([], seed=4), lambda: 0.5)
        return tf.exp(x / 9) + noise

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


@pytest.mark.parametrize("new", [False, True], ids=["v1", "v2"])
def test_python_in_branch_and_check_after_it(tf, runs, new):
    def input_fn():
        (tf.enable_control_flow_v2 if new else tf.disable_control_flow_v2)()
        x = numbers(tf)
        y = tf.cond(x > 5, lambda: tf.py_func(lambda v: -v, [x], tf.int64), lambda: x)
        y.set_shape([])
        with tf.control_dependencies([tf.assert_less(y, tf.constant(100, tf.int64))]):
            return tf.identity(y)

    runs.same(input_fn)


@pytest.mark.parametrize("new", [False, True], ids=["v1", "v2"])
def test_loops_and_functions_over_parts_of_an_element(tf, runs, new):
    def input_fn():
        (tf.enable_control_flow_v2 if new else tf.disable_control_flow_v2)()
        x = tf.cast(numbers(tf), tf.float32)
        rows = tf.map_fn(lambda row: tf.exp(row) * x, tf.constant([0.1, 0.2, 0.3]))
        count = tf.while_loop(lambda i: i * i < x, lambda i: i + 1, [0.0])
        folded = tf.foldl(lambda a, b: a * 0.7 + b, rows)
        return rows, count, folded, tf.scan(lambda a, b: a + b, rows)

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_functions_of_the_program(tf, runs):
    def input_fn():
        @tf.function
        def twice(value):
            return value * 2 if value > 4 else value - tf.random.uniform([], seed=1)

        return twice(tf.cast(numbers(tf), tf.float32))

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_a_failed_check_fails_the_step(tf, runs):
    def input_fn():
        x = numbers(tf)
        with tf.control_dependencies([tf.assert_less(x, tf.constant(6, tf.int64), message="big")]):
            return tf.identity(x)

    with pytest.raises(tf.errors.InvalidArgumentError, match="big"):
        runs.taken(input_fn)


@pytest.mark.parametrize("new", [False, True], ids=["v1", "v2"])
def test_failed_check_that_python_waits_for_fails_step(tf, runs, new):
    def input_fn():
        (tf.enable_control_flow_v2 if new else tf.disable_control_flow_v2)()
        x = numbers(tf)
        with tf.control_dependencies([tf.assert_less(x, tf.constant(6, tf.int64), message="big")]):
            y = tf.py_func(lambda value: value, [x], tf.int64)
        y.set_shape([])
        return y

    with pytest.raises(tf.errors.InvalidArgumentError, match="big"):
        runs.taken(input_fn)


def test_devices_of_program_do_not_bind_pipeline(tf, runs):
    """tf.data runs on the CPU; the program has been placed for TensorFlow 1's own queues."""

    def input_fn():
        with tf.device("/gpu:3"):
            return tf.exp(tf.cast(numbers(tf), tf.float32))

    assert len(runs.taken(input_fn)) == 5
    with tf.Graph().as_default() as graph:
        runs.batches(input_fn)
        functions = graph.as_graph_def().library.function
    copied = [f for f in functions if f.signature.name.startswith("input_")]
    assert {node.op for f in copied for node in f.node_def} >= {"Cast", "Exp"}
    assert {node.device for f in copied for node in f.node_def} == {""}


def test_texts(tf, runs):
    def input_fn():
        x = numbers(tf)
        return tf.string_join([tf.as_string(x), "字"]), tf.as_string(tf.stack([x, x + 1]))

    first, *_ = runs.same(input_fn)
    assert first[0][1] == "1字".encode()


def test_tensor_may_be_returned_twice_or_never(tf, runs):
    def input_fn():
        data = tf.data.Dataset.range(8).map(lambda x: (x, tf.range(x), tf.as_string(x)))
        x, _, text = data.make_one_shot_iterator().get_next()
        y = tf.exp(tf.cast(x, tf.float32))
        return {"a": x, "b": [x, y, y], "text": text}

    runs.same(input_fn)


def test_operations_placed_beside_the_iterator(tf, runs):
    def input_fn():
        x = tf.cast(numbers(tf), tf.float32)
        with tf.colocate_with(x.op.inputs[0].op):
            return tf.exp(x)

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_examples_with_words_of_any_number(tf, runs):
    def example(number):
        words = [b"w%d" % word for word in range(number % 4)]
        feature = {
            "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
            "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
        }
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    def input_fn():
        data = tf.data.Dataset.from_tensor_slices([example(number) for number in range(10)])
        features = {
            "words": tf.VarLenFeature(tf.string),
            "label": tf.FixedLenFeature([1], tf.int64),
        }
        found = tf.parse_single_example(data.make_one_shot_iterator().get_next(), features)
        return tf.sparse_tensor_to_dense(found["words"], ""), found["label"]

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_summary_does_not_take_elements_from_model(tf, runs):
    with tf.Graph().as_default():

        def input_fn():
            x = tf.cast(numbers(tf), tf.float32)
            tf.summary.scalar("x", x)
            return x

        made = runs.batches(input_fn)
        with tf.Session() as session:
            session.run(made.initializer)
            for first in (0, 4, 8):
                session.run(tf.summary.merge_all())
                assert session.run(made.per_clone)[0][0][0] == first


def test_an_error_names_the_line_of_the_program(tf, runs):
    def input_fn():
        data = tf.data.Dataset.from_tensor_slices([b"no picture"] * 8)
        image = tf.image.decode_jpeg(data.make_one_shot_iterator().get_next(), channels=3)
        return tf.image.resize_images(image, [4, 4])

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        runs.taken(input_fn)

    defined = str(caught.value).partition("[[node DecodeJpeg (defined at ")[2]
    assert defined.startswith(f"{__file__}:")
