"""Runs a script with fixed seeds and records its sessions: ``python record.py ORDER [-m] ...``.

``ORDER`` is a JSON file with ``box`` (the folder for the record), ``seed`` and ``foreground`` (the
program of ``danlu python``, or empty). The words after it are those of Python. The script is not
changed: every graph begins with the seed, as if the script had called ``tf.set_random_seed``.

The file runs under Python 3.7 with the real TensorFlow 1.15.5 and under the runtime.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import time
import types
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

_STARTED = time.time()
_OPTIMIZER = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]")  # types of operations that train
_PREFIXES = ("tensorflow.python.", "tensorflow_core.python.")  # 1.15 has its modules in the second
_ROWS = re.compile(r"(Resource)?Scatter(Sub|Add)$")
# The value of an assignment that initialises, restores or sets a variable.
_GIVEN = ("Placeholder", "RestoreV2", "Const", "Identity")
_READS = ("ReadVariableOp", "Identity", "VariableV2", "Variable")
_MOST_ALONE = 300  # variables that are read one by one
_MOST_BYTES = 1 << 30  # of all recorded values
RECORD, INITIAL, FINAL = "record.json", "initial.npz", "final.npz"


class Recorder:
    """What the sessions of this process did.

    ``initial`` and ``final`` are the values of variables by their names, before the first training
    run of a graph and at the end.
    """

    def __init__(self, box: str, seed: int) -> None:
        self.box = box
        self.seed = seed
        self.own = os.getpid()
        self.times: dict[str, float] = {"started": _STARTED}
        self.runs = 0
        self.training = 0
        self.initial: dict[str, Any] = {}
        self.final: dict[str, Any] = {}
        self.variables: dict[str, dict[str, Any]] = {}
        self.left_out: list[str] = []
        self._sessions: list[Any] = []
        self._trained: Any = weakref.WeakSet()  # sessions
        self._known: dict[Any, bool] = {}
        self._reading = False

    def install(self) -> None:
        sys.meta_path.insert(0, _After(self))

    def amend_graphs(self, ops: Any) -> None:
        """Let every graph begin with the seed."""
        graph = ops.Graph
        if "_verified" in graph.__dict__:
            return
        graph._verified = True
        plain, seed = graph.__init__, self.seed

        def init(this: Any, *args: Any, **options: Any) -> None:
            plain(this, *args, **options)
            this.seed = seed

        graph.__init__ = init

    def amend_sessions(self, module: Any) -> None:
        session = module.BaseSession
        if "_verified" in session.__dict__:
            return
        session._verified = True
        self.times.setdefault("imported", time.time())
        recorder = self
        init, close, do_run = session.__init__, session.close, session._do_run
        prepare = session._make_callable_from_options
        call = session._Callable.__call__

        def new_init(this: Any, *args: Any, **options: Any) -> None:
            init(this, *args, **options)
            recorder._sessions.append(weakref.ref(this))

        def new_close(this: Any) -> Any:
            recorder.read_at_end(this)
            return close(this)

        def new_run(this: Any, handle: Any, targets: Any, fetches: Any, *rest: Any) -> Any:
            if recorder._reading:
                return do_run(this, handle, targets, fetches, *rest)
            key = (id(this), *map(_identity, targets), *map(_identity, fetches))
            if key not in recorder._known:
                recorder._known[key] = _trains([*targets, *fetches])
            return recorder.timed(
                this, recorder._known[key], do_run, this, handle, targets, fetches, *rest
            )

        def new_prepare(this: Any, options: Any) -> Any:
            made = prepare(this, options)
            names = [*options.target, *options.fetch]
            made._verified = _trains([_element(this.graph, name) for name in names])
            return made

        def new_call(this: Any, *args: Any, **options: Any) -> Any:
            trains = getattr(this, "_verified", False)
            return recorder.timed(this._session, trains, call, this, *args, **options)

        session.__init__, session.close, session._do_run = new_init, new_close, new_run
        session._make_callable_from_options = new_prepare
        session._Callable.__call__ = new_call

    def timed(self, session: Any, trains: bool, go: Any, *args: Any, **options: Any) -> Any:
        if trains and session not in self._trained:
            self._trained.add(session)
            self._read(session, self.initial, keep=True)
        self.times.setdefault("first_run", time.time())
        try:
            return go(*args, **options)
        finally:
            self.runs += 1
            now = time.time()
            self.times["last_run"] = now
            if trains:
                self.training += 1
                self.times.setdefault("first_step", now)
                self.times["last_step"] = now

    def read_at_end(self, session: Any) -> None:
        """Read the variables of a session that has trained."""
        if session in self._trained and os.getpid() == self.own:
            self._trained.discard(session)
            self._read(session, self.final)

    def _read(self, session: Any, into: dict[str, Any], keep: bool = False) -> None:
        if self._reading:
            return
        self._reading = True
        try:
            found = {each.op.name: each for each in session.graph.get_collection("variables")}
            trained = {id(each) for each in session.graph.get_collection("trainable_variables")}
            for name, each in found.items():
                self.variables[name] = {
                    "shape": each.shape.as_list() if each.shape.ndims is not None else None,
                    "dtype": each.dtype.base_dtype.name,
                    "trainable": id(each) in trained,
                }
            wanted = {
                n: v._as_graph_element() for n, v in found.items() if not (keep and n in into)
            }
            into.update(self._values(session, wanted))
        except Exception as error:  # recording never fails the script
            self.left_out.append(_line(error))
        finally:
            self._reading = False

    def _values(self, session: Any, wanted: dict[str, Any]) -> dict[str, Any]:
        sizes = [each.shape.num_elements() or 0 for each in wanted.values()]
        if sum(sizes) * 4 > _MOST_BYTES:
            self.left_out.append("size")
            return {}
        try:
            return dict(session.run(wanted))
        except Exception as error:
            if "ninitialized" not in str(error) and "does not exist" not in str(error):
                self.left_out.append(_line(error))
                return {}
        values = {}
        for name, tensor in list(wanted.items())[:_MOST_ALONE]:
            try:
                values[name] = session.run(tensor)
            except Exception:  # not initialised
                continue
        return values

    def write(self, error: str) -> None:
        for reference in self._sessions:
            session = reference()
            if session is not None:
                self.read_at_end(session)
        tensorflow = sys.modules.get("tensorflow")
        record = {
            "python": sys.version.split()[0],
            "tensorflow": str(getattr(tensorflow, "__version__", "")),
            "error": error,
            "times": self.times,
            "runs": self.runs,
            "training": self.training,
            "variables": self.variables,
            "left_out": self.left_out,
        }
        for name, values in ((INITIAL, self.initial), (FINAL, self.final)):
            if values:
                import numpy

                with open(os.path.join(self.box, name), "wb") as file:
                    numpy.savez(file, **{_key(each): values[each] for each in values})
        with open(os.path.join(self.box, RECORD), "w") as file:
            json.dump(record, file)


def _key(name: str) -> str:
    """Return the name of an entry of a zip file for a variable."""
    return name.replace("/", "|")


def _identity(fetched: Any) -> Any:
    return id(fetched)


def _element(graph: Any, name: str) -> Any:
    try:
        return graph.as_graph_element(name)
    except Exception:
        return None


def _trains(fetched: Iterable[Any]) -> bool:
    """Return True if an operation of an optimizer is needed for what is fetched."""
    waiting = [getattr(each, "op", each) for each in fetched]
    seen = set()
    trainable = _trainable(waiting)
    while waiting:
        operation = waiting.pop()
        name = getattr(operation, "name", None)
        if name is None or name in seen:
            continue
        seen.add(name)
        if _OPTIMIZER.match(operation.type) or _assigns(operation, trainable):
            return True
        waiting += [each.op for each in operation.inputs]
        waiting += operation.control_inputs
    return False


def _trainable(operations: list[Any]) -> set[str]:
    """Return the names of the trainable variables of the graph that operations are in."""
    for operation in operations:
        graph = getattr(operation, "graph", None)
        if graph is not None:
            return {each.op.name for each in graph.get_collection("trainable_variables")}
    return set()


def _assigns(operation: Any, trainable: set[str]) -> bool:
    """Return True for an assignment that trains: of Keras 2, or of gradients of single rows."""
    if _ROWS.match(operation.type):
        return operation.inputs[0].op.name in trainable
    if not operation.type.startswith("Assign") or len(operation.inputs) < 2:
        return False
    variable, value = operation.inputs[0].op, operation.inputs[1].op
    return (
        variable.name in trainable
        and value.type not in _GIVEN
        and any(each.op.type in _READS for each in value.inputs)
    )


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:300]


class _After:
    """An import finder that changes two modules of TensorFlow when they have been loaded."""

    def __init__(self, recorder: Recorder) -> None:
        self._hooks: dict[str, Callable[[Any], None]] = {}
        for prefix in _PREFIXES:
            self._hooks[prefix + "framework.ops"] = recorder.amend_graphs
            self._hooks[prefix + "client.session"] = recorder.amend_sessions

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self._hooks:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                changed: Any = _Loader(spec.loader, self._hooks[name])
                spec.loader = changed
                return spec
        return None


class _Loader:
    def __init__(self, loader: Any, hook: Callable[[Any], None]) -> None:
        self._loader = loader
        self._hook = hook

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._hook(sys.modules.get(module.__name__, module))


def _seed(seed: int) -> None:
    import random

    random.seed(seed)
    try:
        import numpy
    except ImportError:
        return
    numpy.random.seed(seed)


def _run(words: Sequence[str]) -> None:
    """Run a file, or a module after ``-m``, as Python does."""
    if words[0] == "-m":
        import runpy

        sys.argv = list(words[1:])
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = list(words)
    path = os.path.abspath(words[0])
    sys.path.insert(0, os.path.dirname(path))
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    with open(path, "rb") as file:
        program = compile(file.read(), path, "exec", dont_inherit=True)
    exec(program, module.__dict__)


def _load(path: str) -> Any:
    spec: Any = importlib.util.spec_from_file_location("danlu_foreground", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(order: str, words: list[str]) -> None:
    with open(order) as file:
        given = json.load(file)
    _seed(given["seed"])
    recorder = Recorder(given["box"], given["seed"])
    recorder.install()
    go = _load(given["foreground"]).main if given["foreground"] else _run
    error = ""
    try:
        go(words)
    except SystemExit as ending:
        if ending.code not in (None, 0):
            error = f"SystemExit: {ending.code}"
        raise
    except BaseException as raised:
        error = _line(raised)
        raise
    finally:
        if os.getpid() == recorder.own:
            recorder.write(error)


if __name__ == "__main__":
    # Python puts the folder of this file first in sys.path. User imports must not find it.
    sys.path.pop(0)
    main(sys.argv[1], sys.argv[2:])
