"""MLflow: a project of one script, in the environment that is there."""

import sys

import mlflow
from driver import serve


def submit() -> None:
    run = mlflow.projects.run(sys.argv[1], env_manager="local", synchronous=True)
    assert run.get_status() == "FINISHED"


serve(submit)
