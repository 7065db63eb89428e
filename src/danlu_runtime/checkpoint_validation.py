"""Makes TensorFlow restore the newest checkpoint that is complete.

A power cut or a full disk leaves an incomplete checkpoint, or an incomplete ``checkpoint`` file
with their names. TensorFlow fails on the first, however often the job is retried. It treats the
second as no checkpoint, and training would start again and overwrite the existing ones.

All of TensorFlow calls ``get_checkpoint_state``: latest_checkpoint, Estimator, MonitoredSession,
Supervisor, CheckpointManager. Therefore it is patched to return only readable checkpoints. A folder
is checked until its newest checkpoint is complete. Later checkpoints are written by the running
process and need no check.
"""

import functools
import os
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from danlu.messages import get_message
from danlu_runtime.reports.notes import print_message

_STEP = re.compile(r"-(\d+)$")
_NAMED = re.compile(r'model_checkpoint_path:\s*"([^"\n]*)')
_UNREADABLE = ("variant", "resource")  # NumPy arrays cannot hold these types
_whole: set[tuple[str, str]] = set()  # folders that need no further check
_printed: set[str] = set()


def install(real: ModuleType) -> None:
    """Patch TensorFlow, which has just been loaded, to find only complete checkpoints."""
    from tensorflow.python.checkpoint import checkpoint_management as management
    from tensorflow.python.training import saver

    read = management.get_checkpoint_state

    @functools.wraps(read)
    def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
        folder, name = os.fspath(checkpoint_dir), latest_filename or "checkpoint"
        if (folder, name) in _whole:
            return read(folder, latest_filename)
        return _first_look(read, folder, name)

    for place in (management, saver, real.train, real.compat.v1.train, real.compat.v2.train):
        place.get_checkpoint_state = get_checkpoint_state


def _first_look(read: Callable[..., Any], folder: str, name: str) -> Any:
    try:
        state = read(folder, name)
    except ValueError:  # the file names no checkpoint: it is empty or truncated
        state = None
    text = "" if state is not None else _text(os.path.join(folder, name))
    if state is None and text is None:
        _whole.add((folder, name))
        return None
    chosen = next((each for each in _candidates(folder, state, text) if _is_whole(each)), None)
    if chosen is None:
        _print_once(get_message("checkpoint.none_readable", folder=folder))
        return None
    if state is not None and state.model_checkpoint_path == chosen:
        _whole.add((folder, name))
        return state
    return _state_of(chosen, _listed(folder, state) if state is not None else [chosen])


def _candidates(folder: str, state: Any, text: str | None) -> Iterator[str]:
    """Yield possible checkpoints, best first: the named ones, then others with the same prefix."""
    listed = [] if state is None else _listed(folder, state)
    named = state.model_checkpoint_path if state is not None else _cut_name(text or "")
    yield from listed
    beside = _in_folder(folder)
    kinds = {_base(each) for each in beside}
    if state is not None:
        kinds &= {_base(os.path.basename(named))}
    elif len(kinds) > 1:
        kinds = {kind for kind in kinds if named and kind.startswith(_base(named))}
    if len(kinds) > 1:
        _print_once(
            get_message("checkpoint.several_kinds", folder=folder, kinds=", ".join(sorted(kinds)))
        )
        return
    for each in sorted(beside, key=_step, reverse=True):
        if _base(each) in kinds and os.path.join(folder, each) not in listed:
            yield os.path.join(folder, each)


def _listed(folder: str, state: Any) -> list[str]:
    """Return the current paths of the checkpoints that a state names, the one in use first."""
    named = [state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)]
    return list(dict.fromkeys(_where_it_is(folder, each) for each in named))


def _where_it_is(folder: str, prefix: str) -> str:
    """Return the current path of a checkpoint.

    A stored path may be that of another machine. The files are then beside the state file.
    """
    beside = os.path.join(folder, os.path.basename(prefix))
    return beside if not _exists(prefix) and _exists(beside) else prefix


def _is_whole(prefix: str) -> bool:
    found = damage(prefix)
    if found:
        name = os.path.basename(prefix)
        _print_once(get_message("checkpoint.damaged", name=name, found=found))
    return not found


def damage(prefix: str) -> str:
    """Return why a checkpoint cannot be read, "" if it is complete.

    Every value is read, because TensorFlow then verifies its checksum. In an object store a file is
    complete or missing, and reading the index is enough.
    """
    from tensorflow.python.framework import errors
    from tensorflow.python.training import py_checkpoint_reader

    try:
        reader = py_checkpoint_reader.NewCheckpointReader(prefix)
        kinds = reader.get_variable_to_dtype_map()
        wanted = [name for name, kind in kinds.items() if kind.name not in _UNREADABLE]
        for name in () if "://" in prefix else wanted:
            reader.get_tensor(name)
    except (errors.UnavailableError, errors.PermissionDeniedError):
        raise  # the store does not respond; its content may be complete
    except errors.UnimplementedError:
        return ""  # a value type that only TensorFlow itself can read
    except (errors.OpError, IndexError, KeyError, RuntimeError, ValueError) as error:
        return str(getattr(error, "message", error)).split("\n", 1)[0]
    return ""


def _state_of(chosen: str, known: list[str]) -> Any:
    from tensorflow.python.training.checkpoint_state_pb2 import CheckpointState

    older = [each for each in reversed(known) if _step(each) < _step(chosen)]
    return CheckpointState(
        model_checkpoint_path=chosen, all_model_checkpoint_paths=[*older, chosen]
    )


def _in_folder(folder: str) -> list[str]:
    from tensorflow.python.lib.io import file_io

    names = (name.rstrip("/") for name in file_io.list_directory_v2(folder))
    return [name.removesuffix(".index") for name in names if name.endswith(".index")]


def _text(path: str) -> str | None:
    """Return the content of a file, decoded leniently, or None if it cannot be read."""
    from tensorflow.python.framework import errors
    from tensorflow.python.lib.io import file_io

    try:
        data = file_io.FileIO(path, "rb").read() if file_io.file_exists(path) else None
    except errors.OpError:
        return None
    return None if data is None else data.decode("utf-8", "replace")


def _exists(prefix: str) -> bool:
    from tensorflow.python.lib.io import file_io

    return file_io.file_exists(f"{prefix}.index") or file_io.file_exists(prefix)


def _cut_name(text: str) -> str:
    named = _NAMED.search(text)
    return os.path.basename(named[1]) if named else ""


def _base(name: str) -> str:
    return _STEP.sub("", os.path.basename(name))


def _step(prefix: str) -> int:
    found = _STEP.search(prefix)
    return int(found[1]) if found else -1


def _print_once(text: str) -> None:
    if text not in _printed:
        _printed.add(text)
        print_message(text)
