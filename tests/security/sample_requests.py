"""A whole request of each service, and a body for every route that takes one."""

import copy
from typing import Any

CODE = {
    "train.py": b"print(1)",
    "setup.py": b"from setuptools import setup\nsetup(name='trainer')",
    "trainer/__init__.py": b"",
    "trainer/task.py": b"print(1)",
}
_PLACES = {"code": "obs://bucket/code", "code_origin": "obs://bucket/code"}
_COMMON = {
    "name": "",
    "env": {"WORD": "value"},
    "retries": 1,
    "priority": 0,
    "timeout": 60,
    "framework_version": "1.14",
    "max_steps": 1,
    "cpus": 1,
    "memory": "1G",
    "gpus": 0,
    "flavor": "",
}
REQUESTS: dict[str, dict[str, Any]] = {
    "modelarts": {
        **_PLACES,
        **_COMMON,
        "boot_file": "train.py",
        "inputs": {"data_url": "obs://bucket/data"},
        "outputs": {"train_url": "obs://bucket/out"},
        "parameters": {"lr": "0.1"},
        "working_dir": "trainer",
        "from_environment": ["data_url"],
        "predownload": ["train_url"],
        "urls": "none",
        "nodes": 1,
    },
    "kdl": {
        **_PLACES,
        **_COMMON,
        "module": "trainer.task",
        "parameters": {"lr": "0.1"},
        "job_args": "--words 'of the user'",
        "prepare_command": "true",
        "finish_command": "true",
        "worker_count": 1,
        "ps_count": 0,
    },
    "dls": {
        **_PLACES,
        **_COMMON,
        "boot_file": "train.py",
        "data_url": "obs://bucket/data",
        "train_url": "obs://bucket/out",
        "parameters": {"lr": "0.1"},
        "urls": "all",
        "nodes": 1,
    },
    "ti": {
        **_PLACES,
        **_COMMON,
        "entry_point": "train.py",
        "channels": {"training": "obs://bucket/data"},
        "output_path": "obs://bucket/out",
        "hyperparameters": {"lr": 0.1, "deep": {"a": [1, "b"]}},
        "py_version": "py3",
        "framework": "tensorflow",
        "container_log_level": 20,
        "nodes": 1,
    },
    "modelmaker": {
        **_PLACES,
        **_COMMON,
        "model_file": "train.py",
        "data": "obs://bucket/data",
        "outputs": {"model": "obs://bucket/out"},
        "parameters": {"lr": "0.1"},
        "nodes": 1,
    },
}


def request_of(dialect: str) -> dict[str, Any]:
    """Return a request that would be accepted."""
    return {"dialect": dialect, **copy.deepcopy(REQUESTS[dialect])}


ALGORITHM = {
    "code": "obs://bucket/code",
    "boot_file": "train.py",
    "description": "words",
    "inputs": [{"name": "data_url", "description": "d"}],
    "outputs": [{"name": "train_url"}],
    "parameters": [{"name": "lr", "constraint": {"type": "Float", "default": "0.1"}}],
}


def bodies() -> dict[str, list[Any]]:
    """Return whole bodies by route; the test of paths fails where one is missing."""
    requests = [{"request": request_of(name)} for name in REQUESTS]
    secrets = {"KEY_OF_MINE": "value-of-mine"}
    return {
        "POST /v1/jobs": [{**body, "secrets": secrets} for body in requests],
        "POST /v1/plan": requests,
        "POST /v1/jobs/{ref}/rerun": [{"parameters": {"lr": "1"}, "secrets": secrets}],
        "POST /v1/jobs/{ref}/restore": [{"dry_run": True}],
        "POST /v1/jobs/{ref}/stop": [{"grace": 1.0}],
        "POST /v1/algorithms": [{"name": "algo", "definition": copy.deepcopy(ALGORITHM)}],
        "POST /v1/datasets": [{"name": "data", "definition": {"uri": "obs://bucket/data"}}],
        "PUT /v1/code/{sha256}": [b"an archive"],
    }
