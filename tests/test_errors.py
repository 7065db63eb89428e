import inspect
import json
import re

import pytest

from danlu import errors
from danlu.errors import (
    Conflict,
    DanluError,
    InvalidJob,
    JobFailed,
    NoCapacity,
    NotAllowed,
    NotFound,
    PlatformError,
    Refused,
    StorageError,
    Unavailable,
    Unsupported,
    UserError,
    WaitTimedOut,
    suggestion,
)

TREE = [
    error
    for _, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, DanluError)
]


def test_an_error_is_a_sentence_and_a_hint():
    error = Refused("The port 0 is not one.", hint="Write a number from 1.")

    assert str(error) == "The port 0 is not one.\n  Write a number from 1."
    assert str(Refused("The port 0 is not one.")) == "The port 0 is not one."


def test_an_error_is_reported_over_the_wire():
    error = Conflict("The name is taken.", hint="Choose another.")

    assert error.to_wire() == {
        "code": "conflict",
        "message": "The name is taken.",
        "hint": "Choose another.",
    }


def test_all_faults_of_job_are_reported():
    error = InvalidJob([("boot_file", "'a.sh' is no Python file."), ("nodes", "got 0.")])

    assert str(error) == "boot_file: 'a.sh' is no Python file.\nnodes: got 0."
    assert error.to_wire()["faults"] == [
        {"field": "boot_file", "message": "'a.sh' is no Python file."},
        {"field": "nodes", "message": "got 0."},
    ]
    assert json.loads(json.dumps(error.to_wire())) == error.to_wire()


@pytest.mark.parametrize(
    ("error", "exit_code", "http_status"),
    [
        (InvalidJob, 2, 422),
        (Refused, 2, 400),
        (NotFound, 3, 404),
        (NotAllowed, 4, 401),
        (Conflict, 1, 409),
        (Unsupported, 1, 501),
        (JobFailed, 5, 400),
        (WaitTimedOut, 6, 400),
        (Unavailable, 1, 503),
        (StorageError, 1, 502),
        (NoCapacity, 1, 500),
    ],
)
def test_exit_codes_and_statuses(error, exit_code, http_status):
    assert (error.exit_code, error.http_status) == (exit_code, http_status)


def test_every_error_is_the_users_or_ours():
    sides = [(issubclass(e, UserError), issubclass(e, PlatformError)) for e in TREE]

    assert sides.count((False, False)) == 1  # DanluError itself
    assert (True, True) not in sides


def test_no_two_errors_share_a_code():
    assert len({error.code for error in TREE}) == len(TREE)


def test_tree_of_docstring_is_tree_of_module():
    drawn = set(re.findall(r"^[│├└─ ]*([A-Z]\w+)", errors.__doc__, re.MULTILINE)) - {"Every"}

    assert drawn == {error.__name__ for error in TREE}


def test_a_near_name_is_offered_before_the_list():
    known = ["modelarts", "modelmaker", "dls"]

    assert suggestion("modelart", known) == "Did you mean 'modelarts'?"
    assert suggestion("ModelArts", known) == "Did you mean 'modelarts'?"
    assert suggestion("sagemaker", known) == "Known: dls, modelarts, modelmaker."
    assert suggestion("x", []) == ""


def test_missing_object_is_named_with_its_kind():
    error = NotFound("dialect", "modelart", known=["modelarts"])

    assert error.message == "There is no dialect named 'modelart'."
    assert error.hint == "Did you mean 'modelarts'?"
    assert NotFound("job", "a", known=["b"], hint="Look again.").hint == "Look again."


def test_a_failed_job_carries_the_job():
    assert JobFailed("It failed.", job={"id": "1"}).job == {"id": "1"}
    assert JobFailed("It failed.").job == {}
