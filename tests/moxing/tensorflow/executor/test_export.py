"""The model that is written for TF-Serving."""

import pytest


def served(tf, path):
    """Return the signatures of a model, and a function that asks it."""
    graph = tf.Graph()
    session = tf.Session(graph=graph)
    with graph.as_default():
        loaded = tf.saved_model.load(session, ["serve"], str(path))

    def ask(name, **values):
        signature = loaded.signature_def[name]
        feeds = {signature.inputs[key].name: value for key, value in values.items()}
        return session.run({key: output.name for key, output in signature.outputs.items()}, feeds)

    return loaded, ask


def test_a_trained_model_answers_by_both_its_names(program, tf, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=400, export_model=True)

    loaded, ask = served(tf, tmp_path / "1")
    assert set(loaded.signature_def) >= {"predict_object", "serving_default"}
    for name in ("predict_object", "serving_default"):
        assert ask(name, x=[0.0, 1.0])["guess"] == pytest.approx([1.0, 3.0], abs=0.1)
    assert f"SavedModel written to: {tmp_path}/1/saved_model.pb" in log_lines()


def test_the_layout_is_that_of_tf_serving(program, tmp_path):
    program.run(log_dir=str(tmp_path), export_model=program.mox.ExportKeys.TF_SERVING)

    files = {str(path.relative_to(tmp_path / "1")) for path in (tmp_path / "1").rglob("*")}
    assert files >= {
        "saved_model.pb",
        "variables/variables.index",
        "variables/variables.data-00000-of-00001",
    }


def test_batch_size_of_export_follows_auto_batch(program, tf, tmp_path):
    program.run(log_dir=str(tmp_path / "free"), export_model=True)
    assert [each.shape.as_list() for each in program.inputs["EXPORT"]] == [[None], [None]]

    def in_batches(mode):
        data = tf.data.Dataset.from_tensors(([1.0] * 4, [3.0] * 4)).repeat()
        return data.make_one_shot_iterator().get_next()

    program.run(input_fn=in_batches, auto_batch=False, batch_size=4,
                log_dir=str(tmp_path / "fixed"), export_model=True)  # fmt: skip
    assert [each.shape.as_list() for each in program.inputs["EXPORT"]] == [[4], [4]]


def test_versions_count_on_from_the_largest(program, tmp_path):
    for number in ("1", "2", "99"):
        (tmp_path / number).mkdir()

    program.run(log_dir=str(tmp_path), export_model=True)

    assert (tmp_path / "100" / "saved_model.pb").exists()


@pytest.mark.parametrize("version", [7, "model"])
def test_version_may_be_number_or_name(program, mox, tmp_path, version):
    program.spec = lambda x, guess, **_: {
        "export_spec": mox.ExportSpec({"x": x}, {"guess": guess}, version=version)
    }

    program.run(log_dir=str(tmp_path), export_model=True)

    assert (tmp_path / str(version) / "saved_model.pb").exists()


def test_version_that_exists_is_refused_before_training(program, mox, log_lines, tmp_path):
    program.spec = lambda x, guess, **_: {
        "export_spec": mox.ExportSpec({"x": x}, {"guess": guess}, version=1)
    }
    program.run(log_dir=str(tmp_path), export_model=True)
    log_lines()

    with pytest.raises(AssertionError, match=f"Export directory already exists.*{tmp_path}/1"):
        program.run(log_dir=str(tmp_path), export_model=True, max_number_of_steps=99)

    assert not any("global step" in line for line in log_lines())


def test_model_that_was_not_finished_is_written_anew(program, mox, tmp_path):
    (tmp_path / "1" / "variables").mkdir(parents=True)
    program.spec = lambda x, guess, **_: {
        "export_spec": mox.ExportSpec({"x": x}, {"guess": guess}, version=1)
    }

    program.run(log_dir=str(tmp_path), export_model=True)

    assert (tmp_path / "1" / "saved_model.pb").exists()


def test_no_device_is_stored(program, tf, flags, tmp_path):
    def model_fn(inputs, mode):
        with tf.device("/device:CPU:0"):
            return program.model_fn(inputs, mode)

    flags("num_gpus", 2)
    program.run(model_fn=model_fn, log_dir=str(tmp_path), export_model=True)

    loaded, _ = served(tf, tmp_path / "1")
    assert {node.device for node in loaded.graph_def.node} == {""}


def test_an_evaluation_exports_too(program, tf, tmp_path):
    program.run(log_dir=str(tmp_path / "train"), max_number_of_steps=400)

    program.run("EVAL", checkpoint_path=str(tmp_path / "train"), log_dir=str(tmp_path / "eval"),
                export_model=True)  # fmt: skip

    _, ask = served(tf, tmp_path / "eval" / "1")
    assert ask("predict_object", x=[1.0])["guess"] == pytest.approx([3.0], abs=0.1)


def test_a_finished_training_still_exports(program, tmp_path):
    program.run(log_dir=str(tmp_path))

    program.run(log_dir=str(tmp_path), export_model=True)

    assert (tmp_path / "1" / "saved_model.pb").exists()


def test_fault_of_export_is_reported_before_training(program, log_lines, tmp_path):
    program.spec = lambda mode, **_: {"export_spec": None} if mode == "EXPORT" else {}

    with pytest.raises(ValueError, match=r"model_fn returned no `export_spec`.*the mode is EXPORT"):
        program.run(log_dir=str(tmp_path), export_model=True)

    assert not any("global step" in line for line in log_lines())


def test_tensors_of_another_graph_are_named(program, mox, tf, tmp_path):
    foreign = tf.constant(1.0)
    program.spec = lambda x, mode, **_: (
        {"export_spec": mox.ExportSpec({"x": x}, {"guess": foreign})} if mode == "EXPORT" else {}
    )

    with pytest.raises(ValueError, match=r"outputs_dict\['guess'\] must be made inside model_fn"):
        program.run(log_dir=str(tmp_path), export_model=True)
