"""A team's algorithm and its data set, from the command line to the script."""

ALGORITHM = """
description = "count the rows"
flavor = "modelarts.vm.cpu.2u"
parameters_customization = false

[[inputs]]
name = "data_url"

[[outputs]]
name = "train_url"
required = false

[[parameters]]
name = "learning_rate"
constraint = { type = "Float", default = 1e-3, valid_type = "range", valid_range = [0, 1] }

[[parameters]]
name = "seed"
constraint = { type = "Integer", default = 7, editable = false }
"""
SCRIPT = """
import argparse, os
parser = argparse.ArgumentParser()
for name in ("data_url", "train_url", "learning_rate", "seed"):
    parser.add_argument("--" + name)
args = parser.parse_args()
print("lr", args.learning_rate, "seed", args.seed, "sees", sorted(os.listdir(args.data_url)))
with open(os.path.join(args.train_url, "model.txt"), "w") as file:
    file.write("trained")
"""


def prepare(person):
    person.script(SCRIPT)
    (person.folder / "algorithm.toml").write_text(ALGORITHM, encoding="utf-8")
    data = person.folder / "数据"
    data.mkdir()
    (data / "a.csv").write_text("1\n")
    person.types("store", "cp", data, "obs://bucket/rows")
    create = ("algorithm", "create", "rows", "code", "--file", "algorithm.toml")
    assert person.types(*create).stdout == "rows:1\n"
    assert person.types(*create).stdout == "rows:1\n"
    assert person.types("dataset", "create", "csv", "obs://bucket/rows").stdout == "csv:1\n"
    return data


def test_job_is_made_from_algorithm_and_data_set(person):
    prepare(person)

    run = ("run", "--algorithm", "rows", "--data-url", "dataset://csv")
    ran = person.types(*run, "--train-url", "obs://bucket/out", "--name", "first")

    assert "lr 1e-3 seed 7 sees ['a.csv']\n" in ran.stdout
    assert person.types("store", "cat", "obs://bucket/out/model.txt").stdout == "trained"
    job = person.asks("show", "first")
    assert (job["algorithm"]["name"], job["algorithm"]["version"]) == ("rows", 1)
    assert job["datasets"]["dataset://csv"]["uri"] == "obs://bucket/rows"
    assert job["spec"]["inputs"] == {"data_url": "obs://bucket/rows"}


def test_faults_of_job_from_algorithm_are_reported_together(person):
    prepare(person)

    wrong = ("-p", "learning_rate=2", "-p", "seed=8", "-p", "sede=8", "--boot-file", "other.py")
    reported = person.asks("run", "--algorithm", "rows", *wrong, "--nodes", "0", code=2)["error"]

    assert {fault["field"] for fault in reported["faults"]} == {
        "data_url", "boot_file", "nodes",
        "parameters.learning_rate", "parameters.seed", "parameters.sede",
    }  # fmt: skip
    assert person.asks("ls")["jobs"] == []


def test_changed_and_removed_definitions_keep_their_jobs(person):
    data = prepare(person)
    person.types("run", "--algorithm", "rows:1", "--data-url", "dataset://csv:1",
                 "--train-url", "obs://bucket/one", "--name", "first")  # fmt: skip
    (data / "b.csv").write_text("2\n")
    person.types("store", "cp", data / "b.csv", "obs://bucket/rows/")
    person.script(SCRIPT.replace('"lr"', '"new lr"'))
    again = ("algorithm", "create", "rows", "code", "--file", "algorithm.toml")
    assert person.types(*again).stdout == "rows:2\n"
    person.types("algorithm", "rm", "rows:1")

    ran = person.types("rerun", "first", "-p", "learning_rate=0.5")

    assert "\nlr 0.5 seed 7 sees ['a.csv', 'b.csv']\n" in f"\n{ran.stdout}"
    rerun = person.asks("show")
    assert any("csv:1 has changed" in note for note in rerun["notes"])
    shown = person.asks("dataset", "show", "csv")
    assert (shown["contents"]["files"], shown["now"]["files"]) == (1, 2)
    assert person.types("dataset", "create", "csv", "obs://bucket/rows").stdout == "csv:2\n"


def test_a_job_file_names_an_algorithm(person):
    prepare(person)
    text = 'algorithm = "rows"\ndata_url = "dataset://csv"\ntrain_url = "out"\n'
    (person.folder / "job.toml").write_text(text, encoding="utf-8")

    person.types("submit", "job.toml", "--follow")

    assert (person.folder / "out" / "model.txt").read_text() == "trained"
