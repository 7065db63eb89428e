"""What the functions get as ``params``: defaults, the file beside them, the job's own."""

import json
import os
from typing import Any

from danlu.errors import Refused
from danlu.job.estimator import faults, put_together


def parameters_of(run: str, own: dict[str, Any]) -> dict[str, Any]:
    """Return what the functions get as ``params``; ``own`` are the job's.

    Raises:
        Refused: ``parameters.json`` beside the file is not what it should be.
    """
    path = os.path.join(os.path.dirname(run), "parameters.json")
    try:
        with open(path, encoding="utf-8-sig") as file:
            beside = json.load(file)
    except FileNotFoundError:
        beside = {}
    except ValueError as error:
        raise Refused(f"parameters.json is not JSON: {error}.") from None
    if not isinstance(beside, dict):
        raise Refused(f"parameters.json must hold names with values, got {beside!r}.")
    if found := faults(beside):
        raise Refused("\n".join(f"parameters.json: {name} {text}" for name, text in found))
    return put_together([beside, own])
