"""What old code needed, brought out of the box by the real agent."""

import textwrap

from danlu.agent.reports.progress import relaxed
from danlu.job.state import Reason
from danlu.job.status import Note
from wheels import wheel

NOTES = """
    import json, os, sys
    def note(**fields):
        with open(os.path.join(os.environ["DANLU_BOX"], "translation.jsonl"), "a") as file:
            file.write(json.dumps(fields) + "\\n")
    note(kind="repaired", text="print statements", file="train.py", line=3)
    note(kind="mapped", text="tf.contrib.layers is tf_slim", file="train.py", line=9)
"""


def script(more=""):
    return textwrap.dedent(NOTES) + textwrap.dedent(more)


REPAIRED = Note("repaired", "print statements", "train.py", 3)
MAPPED = Note("mapped", "tf.contrib.layers is tf_slim", "train.py", 9)


def test_notes_are_in_task_directory_after_end(each_bench):
    files = each_bench.plan(script())

    outcome = each_bench.run(files)

    assert outcome.reason is Reason.DONE, each_bench.log(files)
    assert files.translation().notes == (REPAIRED, MAPPED)
    assert not (each_bench.workspace() / "box/translation.jsonl").exists()


def test_script_that_fails_has_its_notes_kept_too(bench):
    more = "note(kind='gone', text='tf.contrib.nccl')\nos.abort()"
    files = bench.plan(script(more))

    outcome = bench.run(files)

    assert outcome.reason is Reason.SCRIPT_FAILED
    assert files.translation().notes == (REPAIRED, MAPPED, Note("gone", "tf.contrib.nccl"))


def test_notes_are_seen_while_the_script_runs(bench, until):
    files = bench.plan(script("import time\ntime.sleep(60)"))

    bench.start(files)

    until(lambda: files.translation().notes == (REPAIRED, MAPPED))
    assert files.outcome() is None


def test_a_secret_in_a_note_is_not_shown(bench):
    files = bench.plan(
        script("note(kind='gone', text='no ' + os.environ['AK'])"),
        secrets={"AK": "canary-57183"},
    )

    bench.run(files)

    assert files.translation().notes[-1] == Note("gone", "no ***")


def test_notes_of_prepare_commands_are_collected(bench):
    line = '{"kind": "repaired", "text": "NAME", "file": "x.py", "line": 1}'
    write = f"""printf '%s\\n' '{line}' >> "$DANLU_BOX/translation.jsonl" """
    files = bench.plan(
        script(), before=write.replace("NAME", "before"), after=write.replace("NAME", "after")
    )

    bench.run(files)

    reported = [note.text for note in files.translation().notes]
    assert reported == ["before", REPAIRED.text, MAPPED.text, "after"]


def test_relaxed_versions_stand_beside_what_was_repaired(bench, index, asking):
    wheel(index, "gone", "9.0")
    files = asking(bench, script(), "# old\ngone==0.1\n")

    bench.run(files)

    assert files.translation().notes[0] == Note(
        "relaxed", "gone==0.1: cannot be installed here; gone 9.0 is used", "requirements.txt", 2
    )
    assert REPAIRED in files.translation().notes


def test_requirement_of_package_has_file_and_no_line():
    text = "futures (setup.py): not needed: Python or the platform has it"

    assert relaxed([{"said": text, "where": "setup.py"}]) == [
        Note("relaxed", "futures: not needed: Python or the platform has it", "setup.py", 0)
    ]
