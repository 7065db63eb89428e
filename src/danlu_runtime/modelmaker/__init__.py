"""Drives the functions of a ModelMaker file: the platform is the program, the file its parts.

Everything that can be wrong is found out before the training: the file is read, the parameters
are checked, and every graph is built and run on one batch. Then it trains, evaluates and exports
as TensorFlow's train_and_evaluate does, and asks the exported model for one answer.

Contract: docs/dialects/modelmaker.md
"""

import json
import os

from danlu.errors import Refused
from danlu_runtime.modelmaker import machines
from danlu_runtime.modelmaker.check import FUNCTIONS, check
from danlu_runtime.modelmaker.parameters import parameters_of

__all__ = ["FUNCTIONS", "check", "drive", "main", "parameters_of"]


def main(run: str, job: str) -> None:
    """Be the program: what is refused ends it with a sentence, and no line of ours beside it."""
    try:
        drive(run, job)
    except Refused as error:
        raise SystemExit(str(error)) from None


def drive(run: str, job: str) -> None:
    """Train with the functions in the file ``run`` as the file ``job`` says.

    Raises:
        Refused: a function is missing or wrong, or a parameter in ``parameters.json`` cannot be.
    """
    with open(run, "rb") as source:
        check(os.path.basename(run), source.read(), run)
    with open(job, encoding="utf-8") as file:
        told = json.load(file)
    params = parameters_of(run, told["parameters"])
    mine = machines.part()
    if mine is None:
        from danlu_runtime.modelmaker.training import train

        train(run, told["path"], told["model_dir"], params)
    else:
        from danlu_runtime.modelmaker import distributed

        distributed.train(run, job, told["path"], told["model_dir"], params, mine)
