"""Runs the functions of a ModelMaker file; the platform is the main program.

The file is read, the parameters are checked, and every graph is built and run on one batch before
the training begins. The training then evaluates and exports like train_and_evaluate of TensorFlow
and tests the exported model with one request. Contract: docs/dialects/modelmaker.md

``functions``: loads and checks the functions and parameters. ``rehearsal``: builds every graph.
``training``: trains in one process. ``distributed``, ``machines``, ``evaluation``: train on
several machines, and evaluate beside them.
``export_check``: tests the exported model. ``diagnostics``: errors of user functions as messages.
"""

import json
import os

from danlu.errors import Refused
from danlu_runtime.modelmaker import machines
from danlu_runtime.modelmaker.functions import FUNCTIONS, check, parameters_of

__all__ = ["FUNCTIONS", "check", "drive", "main", "parameters_of"]


def main(run: str, job: str) -> None:
    """Run as the program; a refused file or parameter ends it with the message, no traceback."""
    try:
        drive(run, job)
    except Refused as error:
        raise SystemExit(str(error)) from None


def drive(run: str, job: str) -> None:
    """Train with the functions in the file ``run``, with the settings in the file ``job``.

    Raises:
        Refused: a function is missing or wrong, or a parameter in ``parameters.json`` is invalid.
    """
    with open(run, "rb") as source:
        check(os.path.basename(run), source.read(), run)
    with open(job, encoding="utf-8") as file:
        settings = json.load(file)
    params = parameters_of(run, settings["parameters"])
    mine = machines.part()
    if mine is None:
        from danlu_runtime.modelmaker.training import train

        train(run, settings["path"], settings["model_dir"], params)
    else:
        from danlu_runtime.modelmaker import distributed

        distributed.train(run, job, settings["path"], settings["model_dir"], params, mine)
