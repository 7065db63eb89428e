"""What mox.run is given: every fault is reported before anything is built."""

import pytest


def test_every_fault_is_reported_at_once(mox):
    with pytest.raises(ValueError, match=r"mox\.run needs input_fn") as caught:
        mox.run(run_mode="TRAINING", export_model="ONNX", output_every_n_steps=3)

    message = str(caught.value)
    assert "mox.run needs model_fn" in message
    assert "run_mode must be one of mox.ModeKeys.TRAIN" in message
    assert "got 'TRAINING'" in message
    assert "export_model must be mox.ExportKeys.TF_SERVING or False, got 'ONNX'" in message
    assert "output_every_n_steps=3 needs output_fn" in message
    assert "max_number_of_steps must be 1 or more" in message


def test_export_is_no_mode_of_a_run(mox, program):
    with pytest.raises(ValueError, match="EXPORT is not given: it follows export_model"):
        program.run(mox.ModeKeys.EXPORT)


@pytest.mark.parametrize("word", ["train", "TRAIN", "Train"])
def test_modes_may_be_words_of_scripts_own_flags(program, word):
    program.run(word, max_number_of_steps=1)

    assert program.modes == ["TRAIN"]


def test_old_mode_name_evaluation_is_accepted(program, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=1)

    program.run("evaluation", log_dir=str(tmp_path), max_number_of_steps=1)

    assert program.modes[-1] == "EVAL"


def test_training_needs_optimizer_and_evaluation_does_not(program, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=1)
    program.run("EVAL", log_dir=str(tmp_path), max_number_of_steps=1, optimizer_fn=None)

    with pytest.raises(ValueError, match="run_mode TRAIN needs optimizer_fn"):
        program.run(optimizer_fn=None)


def test_optimizer_instead_of_function_is_reported_with_hint(program, tf):
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)

    with pytest.raises(TypeError, match="'MomentumOptimizer' object is not callable") as caught:
        program.run(optimizer_fn=optimizer)

    assert "lambda: MomentumOptimizer(…)" in str(caught.value)


def test_name_of_optimizer_is_reported_with_hint(program):
    with pytest.raises(TypeError, match=r"Write mox\.get_optimizer_fn\('adam', learning_rate"):
        program.run(optimizer_fn="adam")


def test_error_for_uncalled_function_names_the_call(program, mox):
    with pytest.raises(TypeError, match=r"got function\. Call that function too"):
        program.run(optimizer_fn=lambda: mox.get_optimizer_fn("sgd", 0.1))


def test_optimizer_of_another_kind_is_reported_with_hint(program, tf):
    with pytest.raises(TypeError, match=r"of tf\.train, got SGD\. Write lambda: tf\.train\."):
        program.run(optimizer_fn=lambda: tf.keras.optimizers.SGD(0.1))


def test_an_optimizer_fn_without_return_is_reported(program):
    with pytest.raises(TypeError, match=r"got NoneType\. Is a `return` missing"):
        program.run(optimizer_fn=lambda: None)


def test_auto_batch_without_a_batch_size_is_reported(program):
    with pytest.raises(ValueError, match="auto_batch=True needs batch_size"):
        program.run(batch_size=None, auto_batch=True)


def test_the_word_false_is_not_taken_for_true(program):
    with pytest.raises(TypeError, match="auto_batch must be True or False, got 'False'"):
        program.run(auto_batch="False")


def test_a_file_is_no_log_dir(program, tmp_path):
    (tmp_path / "log").write_text("")

    with pytest.raises(ValueError, match=r"log_dir must be a directory, got the file .*/log"):
        program.run(log_dir=tmp_path / "log")


def test_paths_may_be_objects_or_bytes(program, tmp_path):
    program.run(log_dir=tmp_path / "first")

    program.run("EVAL", checkpoint_path=bytes(tmp_path / "first"))


def test_an_export_needs_a_place(program):
    with pytest.raises(ValueError, match="export_model needs log_dir"):
        program.run(export_model=True)


def test_unknown_function_is_refused(program):
    with pytest.raises(NotImplementedError, match="fetch_strategy_fn is not there"):
        program.run(fetch_strategy_fn=lambda: None)


@pytest.mark.parametrize(
    "input_fn",
    [
        lambda mode: one(),
        lambda run_mode: one(),
        lambda mode, **kwargs: one(),
        lambda run_mode, **kwargs: one(),
        lambda *args: one(),
        lambda: one(),
    ],
    ids=["mode", "run_mode", "mode, kwargs", "run_mode, kwargs", "args", "nothing"],
)
def test_functions_take_the_mode_by_any_name(mox, tf, input_fn):
    seen = []

    def model_fn(inputs, run_mode):
        seen.append(run_mode)
        loss = tf.reduce_mean(tf.square(tf.get_variable("w", []) - inputs[0]))
        return mox.ModelSpec(loss=loss)

    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.1),
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=2,
        max_number_of_steps=1,
    )

    assert seen == ["TRAIN"]


def one():
    import tensorflow as tf

    return tf.constant(1.0)


def test_a_name_moxing_does_not_have_is_tensorflows(mox, tf):
    assert mox.float32 is tf.float32
    assert mox.data is tf.data


def test_flag_cannot_be_set_while_model_is_built(program, mox):
    def late(inputs, mode):
        mox.set_flag("num_gpus", 2)

    with pytest.raises(RuntimeError, match="set_flag"):
        program.run(model_fn=late)


def test_users_own_graph_and_seed_are_left_alone(program, tf):
    tf.set_random_seed(7)
    before = tf.constant(1.0)

    program.run(max_number_of_steps=1)

    assert tf.get_default_graph() is before.graph
    assert len(before.graph.get_operations()) == 1


def test_learning_rate_made_before_run_gives_hint(program, tf):
    rate = tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 10, 0.9)

    with pytest.raises(
        ValueError, match=r"^'ExponentialDecay:0' was made before mox\.run.*inside of optimizer_fn"
    ):
        program.run(optimizer_fn=lambda: tf.train.AdamOptimizer(rate))


def test_foreign_tensor_is_reported_with_user_line(program, tf):
    outside = tf.constant(2.0, name="outside")
    program.spec = lambda loss, **_: {"loss": outside * loss}

    with pytest.raises(ValueError, match=r"^'outside:0' was made before mox\.run") as caught:
        program.run()

    assert any(entry.name == "<lambda>" for entry in caught.traceback)


@pytest.mark.parametrize("registered", [False, True])
def test_iterator_with_two_initializers_reports_which_to_register(program, tf, registered):
    def input_fn(mode):
        data = tf.data.Dataset.from_tensors((0.5, 2.0)).repeat()
        iterator = tf.data.Iterator.from_structure(data.output_types, data.output_shapes)
        first, _ = iterator.make_initializer(data), iterator.make_initializer(data.skip(1))
        if registered:
            tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, first)
        return iterator.get_next()

    if registered:
        program.run(input_fn=input_fn, max_number_of_steps=1)
        return
    with pytest.raises(
        ValueError, match=r"never given its data: 'IteratorV2' \(2 initializers\).*TABLE_INITIAL"
    ):
        program.run(input_fn=input_fn, max_number_of_steps=1)
