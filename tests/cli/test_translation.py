"""danlu show --translation: what a job's old code needed."""

NOTES = {
    "tensorflow": "1.15.5",
    "repaired": [{"file": "train.py", "line": 3, "text": "print statements"}],
    "mapped": [
        {"file": "model.py", "line": 120, "text": "tf.contrib.layers"},
        {"file": "", "line": 0, "text": "tf.contrib.slim is tf_slim"},
    ],
    "relaxed": [{"file": "setup.py", "line": 0, "text": "numpy==1.16.4: 2.4.6 is used"}],
    "gone": [{"file": "train.py", "line": 9, "text": "tf.contrib.nccl"}],
}


def test_notes_are_sorted_by_kind_with_location(danlu, client, script):
    danlu("run", "code", "--name", "mnist")
    client.translation_view = NOTES

    result = danlu("show", "mnist", "--translation")

    assert result.out == (
        "TensorFlow  1.15.5\n"
        "\n"
        "Gone\n"
        "  train.py:9  tf.contrib.nccl\n"
        "\n"
        "Repaired\n"
        "  train.py:3  print statements\n"
        "\n"
        "Mapped\n"
        "  model.py:120  tf.contrib.layers\n"
        "                tf.contrib.slim is tf_slim\n"
        "\n"
        "Relaxed versions\n"
        "  setup.py  numpy==1.16.4: 2.4.6 is used\n"
    )


def test_notes_beyond_the_bounds_are_counted(danlu, client, script):
    danlu("run", "code")
    client.translation_view = {**NOTES, "left_out": 7}

    assert danlu("show", "--translation", "--lang", "zh").out.endswith("另有 7 条\n")


def test_empty_translation_report_is_shown(danlu, client, script):
    danlu("run", "code")

    assert danlu("show", "--translation").out == "Nothing had to be changed.\n"
    client.translation_view = {"ended": False}
    assert danlu("show", "--translation").out == "Nothing had to be changed so far.\n"


def test_translation_json_is_the_response_of_the_server(danlu, client, script):
    danlu("run", "code", "--name", "mnist")
    client.translation_view = NOTES

    result = danlu("show", "mnist", "--translation", "--json")

    assert result.json["repaired"] == NOTES["repaired"]
    assert result.json["left_out"] == 0


def test_a_job_shows_the_tensorflow_its_script_sees(danlu, client, script):
    danlu("run", "code", "--name", "mnist", "--framework-version", "1.14")

    assert "TensorFlow  1.14" in danlu("show", "mnist").out
