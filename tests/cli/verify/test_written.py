"""The files of two runs are paired by name and compared by kind."""

import pytest

from danlu.cli.verify.paths import NamedPath, outside, uris
from danlu.cli.verify.tensors import items
from danlu.cli.verify.written import pairs, plain


def files(folder, *names):
    found = {}
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        found[name] = path
    return found


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("log/events.out.tfevents.1600000000.host", "log/events.out.tfevents"),
        ("log/events.out.tfevents.1600000000.host.1.2.v2", "log/events.out.tfevents.v2"),
        ("export/1600000000/saved_model.pb", "export/<time>/saved_model.pb"),
        ("runs/20200102-030405/a.txt", "runs/<time>/a.txt"),
        ("/tmp/tmpab12cd34/model.ckpt-0.index", "/tmp/tmp*/model.ckpt-0.index"),
        ("model.ckpt-1000.index", "model.ckpt-1000.index"),
    ],
)
def test_names_have_no_times_and_hosts(name, shown):
    assert plain(name) == shown


def test_checkpoint_is_one_entry(tmp_path):
    names = ("out/m-1.index", "out/m-1.data-00000-of-00001", "out/m-1.meta", "out/a.txt")
    one = files(tmp_path / "one", *names)
    other = files(tmp_path / "other", *names[:-1])

    found = {each.name: each for each in pairs(one, other)}

    assert list(found) == ["out/a.txt", "out/m-1", "out/m-1.meta"]
    assert found["out/m-1"].kind == "checkpoint"
    assert found["out/m-1"].danlu == tmp_path / "other/out/m-1"
    assert found["out/a.txt"].danlu is None


def test_checkpoint_with_step_in_name_keeps_it(tmp_path):
    one = files(tmp_path, "m.ckpt-5.index", "m.ckpt-5.data-00000-of-00001")

    (found,) = pairs(one, one)

    assert found.reference == tmp_path / "m.ckpt-5"


def test_several_event_files_are_paired_by_turn(tmp_path):
    one = files(tmp_path / "a", "events.out.tfevents.1.h", "events.out.tfevents.2.h")
    other = files(tmp_path / "b", "events.out.tfevents.7.h", "events.out.tfevents.9.h")

    first, second = pairs(one, other)

    assert first.danlu == other["events.out.tfevents.7.h"]
    assert second.danlu == other["events.out.tfevents.9.h"]


def test_each_side_reads_and_restores_files_of_other(tmp_path):
    names = ("m.index", "m.data-00000-of-00001", "m.meta", "events.out.tfevents.1.h")
    found = items(pairs(files(tmp_path / "a", *names), files(tmp_path / "b", *names)))

    assert {(each.kind, each.of, each.by) for each in found} == {
        *((kind, of, by) for kind in ("checkpoint", "graph")
          for of in ("reference", "danlu") for by in ("reference", "danlu")),
        ("events", "reference", "reference"),
        ("events", "danlu", "danlu"),
    }  # fmt: skip
    restored = next(e for e in found if (e.kind, e.of, e.by) == ("graph", "reference", "danlu"))
    assert (restored.path, restored.graph) == (tmp_path / "a/m", tmp_path / "b/m")


def test_paths_outside_are_kept_apart(tmp_path):
    here, data = tmp_path / "here", tmp_path / "data"
    (here / "in").mkdir(parents=True)
    data.mkdir()
    (data / "a.csv").touch()
    words = [
        *("train.py", "--data", str(data / "a.csv"), f"--out={tmp_path}/out/run", "../data/x"),
        *(f"{here}/in", "in", "--device=/cpu:0", "obs://bucket/a", "/job:worker/task:0", "-n=3"),
    ]

    assert outside(words, str(here)) == [
        NamedPath(str(data), True),
        NamedPath(f"{tmp_path}/out/run", False),
    ]
    assert uris(words) == ["obs://bucket/a"]
