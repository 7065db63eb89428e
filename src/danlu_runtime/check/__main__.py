"""Command ``python -m danlu_runtime.check PATH [--json]`` for a folder or a file."""

import argparse
import contextlib
import json
import os
import sys

from danlu_runtime.check.scan import KINDS, Report, look, python_files, uses_of
from danlu_runtime.repair.program import readings_of
from danlu_runtime.start import activate

_FIRST = "1.15.5"
_SECOND = "2.15.0"
# Names that a TensorFlow 2 script does not use.
_TF1 = {
    *("contrib", "Session", "placeholder", "app", "flags", "layers", "get_variable"),
    *("variable_scope", "global_variables_initializer", "logging", "gfile", "python_io"),
    *("InteractiveSession", "examples", "ConfigProto", "estimator", "losses"),
}


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="danlu_runtime.check")
    parser.add_argument("path")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)
    # Libraries print when they are imported. stdout is reserved for the result.
    with contextlib.redirect_stdout(sys.stderr):
        report = _report(os.path.abspath(options.path))
    found = report.to_json()
    if options.json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        for kind in KINDS:
            for item in found[kind]:
                print(f"{kind}: {item['file']}:{item['line']}: {item['text']}")
    return int(any(found[kind] for kind in ("gone", "missing", "errors")))


def _report(path: str) -> Report:
    is_file = os.path.isfile(path)
    root = os.environ.get(activate.CODE) or (os.path.dirname(path) if is_file else path)
    files = [os.path.relpath(path, root)] if is_file else python_files(path)
    if not is_file and root != path:
        files = [os.path.relpath(os.path.join(path, file), root) for file in files]
    used = uses_of(root, files)
    version = os.environ.get(activate.TENSORFLOW) or _version(used)
    os.environ[activate.CODE] = root
    if version:
        os.environ[activate.TENSORFLOW] = version
    activate.start()
    sys.path.append(root)
    report = look(root, files, readings_of(os.environ))
    has_tensorflow = any(use.partition(".")[0] in ("tensorflow", "keras") for use in used)
    report.tensorflow = version[:1] if has_tensorflow else ""
    return report


def _version(used: set[str]) -> str:
    """Return the TensorFlow version that the code was written for, "" if it uses none."""
    names = [use.split(".") for use in used if use.startswith("tensorflow")]
    if not names:
        return ""
    return _FIRST if any(_TF1 & set(parts[1:2]) for parts in names) else _SECOND


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
