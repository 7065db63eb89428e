"""What model_fn gives back."""

import pytest


def test_something_else_than_a_model_spec_is_reported(program):
    with pytest.raises(TypeError, match=r"must return a mox\.ModelSpec, got tuple in mode"):
        program.run(model_fn=lambda inputs, mode: (1, 2))


@pytest.mark.parametrize(
    ("mode", "field"), [("TRAIN", "loss"), ("EVAL", "log_info"), ("PREDICT", "output_info")]
)
def test_each_mode_needs_its_own_field(program, tmp_path, mode, field):
    program.run(log_dir=str(tmp_path), max_number_of_steps=1)
    program.spec = lambda **_: {field: None}

    with pytest.raises(ValueError, match=f"model_fn returned no `{field}`.*the mode is {mode}"):
        program.run(mode, log_dir=str(tmp_path), max_number_of_steps=5)


def test_a_number_that_is_none_is_named(program):
    program.spec = lambda x, **_: {"log_info": {"x": x}}

    with pytest.raises(ValueError, match=r"log_info\['x'\] must be a tensor of rank 0.*\(8,\)"):
        program.run()


@pytest.mark.parametrize("given", [3, [3], [["a", 3]], {"a": 1}])
def test_scopes_that_are_no_names_are_refused(mox, given):
    with pytest.raises(TypeError, match=r"var_scopes=…\) must be a list of scope names"):
        mox.ModelSpec(var_scope=given)


def test_what_has_no_names_is_reported(mox, tf):
    with pytest.raises(TypeError) as raised:
        mox.ModelSpec(log_info=tf.constant(1.0), output_info=[tf.constant(1.0)])

    assert str(raised.value).splitlines() == [
        "mox.ModelSpec(log_info=…) must be a dict of names and tensors, got a tensor.",
        "mox.ModelSpec(output_info=…) must be a dict of names and tensors, got list.",
    ]


def test_integer_loss_and_log_text_are_reported(program, tf):
    program.spec = lambda **_: {"loss": tf.constant(1), "log_info": {"name": tf.constant("x")}}

    with pytest.raises(ValueError, match="loss must be") as raised:
        program.run()

    assert str(raised.value).splitlines() == [
        "loss must be of a floating-point type, got int32.",
        "log_info['name'] must be a number, got a tensor of string.",
    ]


@pytest.mark.parametrize("version", [-2, 1.5, True, None, "a/b", "..", "eval"])
def test_what_is_no_version_of_model_is_reported(mox, tf, version):
    with pytest.raises(ValueError, match="must be a number, or the name of a directory, got"):
        mox.ExportSpec({"x": tf.constant(1)}, {"y": tf.constant(1)}, version=version)


def test_inputs_of_model_are_always_a_list(program, tf):
    seen = []

    def model_fn(inputs, mode):
        seen.append(inputs)
        loss = tf.reduce_sum(tf.get_variable("w", []) * inputs[0])
        return program.mox.ModelSpec(loss=loss)

    program.run(input_fn=lambda mode: tf.constant([1.0, 2.0]), model_fn=model_fn)

    assert type(seen[0]) is list
    assert [tensor.shape.as_list() for tensor in seen[0]] == [[8, 2]]


def test_inputs_by_number_reach_the_model(program, mox, tf):
    def input_fn(mode):
        spec = mox.InputSpec(split_to_device=True)
        spec.new_input([tf.constant(1.0), tf.constant(2.0)])
        return spec

    def model_fn(inputs, mode):
        a, b = inputs.get_input(0)
        return mox.ModelSpec(loss=tf.reduce_mean(tf.get_variable("w", []) * a * b))

    program.run(input_fn=input_fn, model_fn=model_fn)


def test_other_spellings_of_the_manual_are_known(mox):
    spec = mox.ModelSpec(loss=[1, 2], var_scope=[["a"], "b"], output_dict={"x": 1})

    assert spec.scopes() == [["a"], ["b"]]
    assert spec.output_info == {"x": 1}
    assert mox.ModeKey is mox.ModeKeys


def test_as_many_scopes_as_losses_are_needed(mox):
    with pytest.raises(ValueError, match="2 losses and 1 var_scopes"):
        mox.ModelSpec(loss=[1, 2], var_scopes=[["a"]]).scopes()


def test_a_keras_style_variable_is_trained_too(program, mox, tf):
    def model_fn(inputs, mode):
        w = tf.Variable(0.0, name="plain")
        loss = tf.reduce_mean(tf.square(w - inputs[1]))
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    program.run(model_fn=model_fn, max_number_of_steps=30)
