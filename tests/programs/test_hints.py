"""Every hint was tried: a program gets it, the change it names is made, and the program runs."""

import os
import re

import pytest

from danlu.service.diagnosis.hints import CARDS
from hint_trials import ELSEWHERE, TRIALS, UNTRIED
from hint_trials_tensorflow import CHANGES, TENSORFLOW

SHARED_HOME = True


class Stage:
    """One person who runs a program of the table."""

    def __init__(self, person, name):
        self.person = person
        self.code = 5  # of a command whose job failed
        self.names = {
            "data": str(person.folder / "data"),
            "store": f"obs://{name.replace('_', '-')}",
            "bucket": name.replace("_", "-"),
        }

    def runs(self, trial, hint=""):
        """Run a program and return the job; ``hint`` is the code that a hint quotes."""
        names = {**self.names, "hint": hint}
        for name, text in trial.data.items():
            file = self.person.folder / "data" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, bytes):
                file.write_bytes(text)
            else:
                file.write_text(text)
        self.person.types("store", "cp", "-r", self.person.folder / "data", self.names["store"])
        for name, text in {**trial.files, "train.py": trial.script}.items():
            self.person.script(filled(text, names), name)
        code, options = self.person.folder / "code", [filled(o, names) for o in trial.options]
        entry = () if {"ti", "--boot-file"} & {*options} else ("--boot-file", "train.py")
        entry = ("--entry-point", "train.py") if "ti" in options else entry
        words = [*(() if "--entry-point" in options else entry), *options]
        return self.ended("run", code, *words)

    def reruns(self, words):
        """Run the latest job again, with these words."""
        return self.ended("rerun", self.person.asks("show")["name"], *words)

    def ended(self, *words):
        """Run a command that follows a job, and return the job."""
        self.person.types(*words, code=self.code)
        return self.person.asks("show")


def filled(text, names):
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def try_hint(person, key, trial):
    code = key.partition(".")[0]
    if trial.root and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    stage = Stage(person, f"hints-{key.replace('.', '-')}")

    stage.code = 0 if code in ("nothing_written", "url_folder") else 5
    failed = stage.runs(trial)
    card = failed["cause"]["card"]
    assert card, failed["cause"]
    assert card["code"] == code, card
    assert filled(trial.hint, stage.names) in card["en"]
    quoted = re.findall(r"`([^`]+)`", card["en"])
    (person.folder / "code" / "train.py").unlink()
    for name in trial.files:
        (person.folder / "code" / name).unlink()

    stage.code, fixed = 0, trial.fixed
    done = stage.reruns(fixed.rerun) if fixed.rerun else stage.runs(fixed, (quoted or [""])[0])

    assert done["state"] == "succeeded", done["cause"]
    card = done["cause"]["card"]
    assert not card or card["code"] != code


# A few stay in `make test`: code that the hint quotes, an option, a parameter, a file.
SMOKE = ("argument_ours", "path_url", "argument_missing", "module_case")


@pytest.mark.parametrize(
    "code", [pytest.param(c, marks=pytest.mark.smoke if c in SMOKE else ()) for c in TRIALS]
)
def test_program_runs_after_change_that_hint_names(person, code):
    try_hint(person, code, TRIALS[code])


@pytest.mark.parametrize("code", TENSORFLOW)
def test_tensorflow_program_runs_after_change_that_hint_names(person, code):
    try_hint(person, code, TENSORFLOW[code])


def test_every_hint_has_its_trial_or_a_reason():
    tables = (TRIALS, CHANGES, TENSORFLOW, ELSEWHERE, UNTRIED)
    tried = {key.partition(".")[0] for table in tables for key in table}

    assert sorted(tried) == sorted(CARDS)
