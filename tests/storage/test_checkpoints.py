"""Which files of an earlier training the next one needs."""

import pytest

from danlu.storage.checkpoints import localized, named, to_continue

V2 = ("index", "meta", "data-00000-of-00001")


def chosen(files):
    """Return what is chosen of a tree; the value of a state file is its text."""
    sizes = {path: len(text) for path, text in files.items()}
    return to_continue(sizes, lambda path: files[path].encode())


def saved(prefix):
    return {f"{prefix}.{part}": "x" for part in V2}


def state(*names):
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    return "\n".join(lines + [f'all_model_checkpoint_paths: "{name}"' for name in names]) + "\n"


def test_only_checkpoints_of_state_file_are_chosen():
    files = {
        "checkpoint": state("model.ckpt-20", "model.ckpt-30"),
        **saved("model.ckpt-10"),
        **saved("model.ckpt-20"),
        **saved("model.ckpt-30"),
        **saved("model.ckpt-300"),
        "events.out.tfevents.1": "x",
        "log.txt": "x",
    }

    expected = {"checkpoint", *saved("model.ckpt-20"), *saved("model.ckpt-30")}
    assert chosen(files) == expected


def test_state_files_at_any_depth_are_chosen():
    files = {"a/b/checkpoint": state("c/model-1"), **saved("a/b/c/model-1"), **saved("model-1")}

    assert chosen(files) == {"a/b/checkpoint", *saved("a/b/c/model-1")}


def test_checkpoints_of_the_first_format_are_chosen():
    files = {
        "checkpoint": state("model-1", "model-2"),
        "model-1": "x",
        "model-1.meta": "x",
        "model-2-00000-of-00002": "x",
        "model-2-00001-of-00002": "x",
        "model-25": "x",
    }

    assert chosen(files) == set(files) - {"model-25"}


@pytest.mark.parametrize(
    "name",
    [
        "/home/ma-user/modelarts/outputs/train_url_0/model-7",
        "/old/machine/model-7",
        "obs://bucket/out/model-7",
        "./model-7",
    ],
)
def test_state_of_another_machine_finds_files_beside(name):
    files = {"checkpoint": state(name), **saved("model-7")}

    assert chosen(files) == set(files)
    local = localized(files, "checkpoint", files["checkpoint"].encode()).decode()
    assert named(local.encode()) == (["model-7"] if not name.startswith(".") else [name])


def test_path_of_another_machine_keeps_its_inner_folders():
    files = {"checkpoint": state("/old/out/best/model-7"), **saved("best/model-7")}

    assert chosen(files) == set(files)
    assert named(localized(files, "checkpoint", files["checkpoint"].encode())) == ["best/model-7"]


def test_checkpoint_state_with_missing_files_is_unchanged():
    text = state("/elsewhere/model-7").encode()

    assert localized(["checkpoint"], "checkpoint", text) == text


def test_numbered_exports_are_chosen_whole():
    files = {
        "export/1/saved_model.pb": "x",
        "export/1/variables/variables.index": "x",
        "export/2/saved_model.pbtxt": "x",
        "export/temp-3/saved_model.pb": "x",
        "7/picture.png": "x",
        "saved_model.pb": "x",
    }

    assert chosen(files) == {
        "export/1/saved_model.pb",
        "export/1/variables/variables.index",
        "export/2/saved_model.pbtxt",
    }


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("model_checkpoint_path:'a-1'", ["a-1"]),
        ('  model_checkpoint_path : "a \\"b\\"-1"', ['a "b"-1']),
        ('model_checkpoint_path: "\\346\\250\\241-1"', ["模-1"]),
        ('model_checkpoint_path: "模-1"', ["模-1"]),
        ('model_checkpoint_path: "cut', []),
        ("all_model_checkpoint_timestamps: 1.5\nlast_preserved_timestamp: 2.0\n", []),
        ("\x00\xff not text at all", []),
    ],
)
def test_any_state_file_is_read_as_text(text, names):
    assert named(text.encode()) == names
