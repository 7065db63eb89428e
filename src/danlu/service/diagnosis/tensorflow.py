"""Hints for TensorFlow errors: checkpoints, placeholders, shapes, a loss that is not a number.

danlu_runtime/reports/failure.py folds TensorFlow's messages to one line when it records a failure.
The line holds the error, then ``; variable '…'`` and ``; node '…' is made at FILE:LINE`` if known.
"""

import re

from danlu.dialects.options import input_option, option_of
from danlu.service.diagnosis.hint_context import HintContext, Values, below

_KEY = re.compile(r"Key (?P<variable>\S+) not found in checkpoint")
_ASSIGN = re.compile(
    r"requires shapes of both tensors to match\. "
    r"lhs shape= ?(?P<model>\[[^\]]*\]) rhs shape= ?(?P<saved>\[[^\]]*\])"
    r"(?:; variable '(?P<variable>[^']+)')?"
)
_NO_CHECKPOINT = re.compile(
    r"The passed save_path is not a valid checkpoint: (?P<path>.+)"
    r"|Can't load save_path when it is None\."
)
_NO_FOLDER = re.compile(r"Parent directory of (?P<path>.+) doesn't exist, can't save\.")
_NOT_FED = re.compile(r"You must feed a value for placeholder tensor '(?P<tensor>[^']+)'")
_FED = re.compile(
    r"Cannot feed value of shape (?P<given>\(.*?\)) for Tensor '?(?P<tensor>[^',]+)'?, "
    r"which has shape '?(?P<wanted>\(.*?\))'?"
)
_UNSET = re.compile(r"Attempting to use uninitialized value (?P<variable>[^\s;]+)")
_LABEL = re.compile(
    r"Received a label value of (?P<label>-?\d+) which is outside the valid range of "
    r"\[0, (?P<classes>\d+)\)"
)
_NO_NUMBER = re.compile(
    r"NaN loss during training|[Mm]odel diverged with loss = NaN|is inf or nan"
    r"|Tensor had (?:NaN|Inf|-Inf|\+Inf)|(?:loss|values) .{0,200}became NaN|loss 变为 NaN"
)
_MISFIT = re.compile(
    r"Dimensions? .{0,200}must be equal|Matrix size-incompatible|Dimensions of inputs should match"
    r"|Incompatible shapes|Shapes? .{0,200}(?:must have rank|must be rank|are incompatible)"
    r"|Shape must be rank|[Cc]annot reshape a tensor|Input to reshape is a tensor with"
    r"|requires shapes of both tensors to match|Depth of input|is incompatible with the layer"
)
# A tensor in the name scope of moxing/tensorflow/executor/pipeline/batches.py.
_OF_PIPELINE = r"<tf\.Tensor '(?:train|eval|predict|export)_input(?:_\d+)?/[^']*'[^<>]*>"
# Errors of layers, operations and networks that receive a list of tensors instead of one tensor.
_LIST = re.compile(
    r"'list' object has no attribute '(?:shape|get_shape|dtype)'"
    r"|Dimension value must be integer or None .*, got value 'TensorShape\("
    r"|takes a batch of pictures .* of shape \(\d+(?:, \w+){4}\)"
    r"|(?:with rank|expected ndim=) ?(?P<wanted>\d+), (?:got|found ndim=) ?(?P<given>\d+)"
    # With two inputs or more, these errors print tensors: those of the input pipeline match only.
    rf"|expects 1 input\(s\), but it received \d+ input tensors\. "
    rf"Inputs received: \[{_OF_PIPELINE}(?:, {_OF_PIPELINE})*\]"
    rf"|Cannot convert a list containing a tensor of dtype .* \(Tensor is: {_OF_PIPELINE}\)"
)
_MOX_RUN = re.compile(r"\bmox\w*(?:\.\w+)*\.run\b")
_BROKEN = re.compile(r"corrupted record at|truncated record at|Is this even a TFRecord file")
_NO_PICTURE = re.compile(r"(?P<file>[^\[]+): these bytes are no image that can be decoded")
# The message keras.no_data_file, in both languages.
_NO_DATA = re.compile(
    r"\A(?P<file>\S+) (?:is in none of .+, and|不在 .+ 中，且) (?P<origin>\S+) "
    r"(?:could not be read|无法读取)"
)
_NODE = re.compile(r"; node '[^']+' is made at (?P<place>\S+:\d+)")
_RATES = ("learning_rate", "lr", "learning-rate", "base_lr", "initial_learning_rate")


def _match_message(case: HintContext, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return pattern.search(case.failure.message) if case.raised else None


def checkpoint_key(case: HintContext) -> Values | None:
    """Match a changed model that restores a checkpoint of its earlier version."""
    match = _match_message(case, _KEY)
    return {"variable": match["variable"]} if match else None


def checkpoint_shape(case: HintContext) -> Values | None:
    match = _match_message(case, _ASSIGN)
    if not match or not case.failure.message.startswith("Restoring from checkpoint failed"):
        return None
    return {
        "variable": match["variable"] or "?",
        "model": match["model"],
        "saved": match["saved"],
    }


def checkpoint_none(case: HintContext) -> Values | None:
    match = _match_message(case, _NO_CHECKPOINT)
    if not match or case.raised != "ValueError":
        return None
    option = option_of(case.job.spec.dialect, "predownload")
    return {
        "path": match["path"] or "None",
        "option": option,
        "variant": "predownload" if option else "",
    }


def checkpoint_folder(case: HintContext) -> Values | None:
    match = _match_message(case, _NO_FOLDER)
    return {"path": match["path"]} if match and case.raised == "ValueError" else None


def placeholder_not_fed(case: HintContext) -> Values | None:
    match = _match_message(case, _NOT_FED)
    return {"tensor": match["tensor"], "place": _place(case)} if match else None


def placeholder_shape(case: HintContext) -> Values | None:
    match = _match_message(case, _FED)
    if not match or case.raised != "ValueError":
        return None
    wanted = match["wanted"].replace("?", "-1").replace("None", "-1")
    return {
        "tensor": match["tensor"].removesuffix(":0"),
        "given": match["given"],
        "wanted": wanted,
    }


def variable_unset(case: HintContext) -> Values | None:
    match = _match_message(case, _UNSET)
    return {"variable": match["variable"]} if match else None


def label_range(case: HintContext) -> Values | None:
    match = _match_message(case, _LABEL)
    if not match:
        return None
    classes = int(match["classes"])
    return {"label": match["label"], "classes": classes, "last": classes - 1}


def loss_no_number(case: HintContext) -> Values | None:
    if not _match_message(case, _NO_NUMBER):
        return None
    given = [name for name, _ in case.job.spec.params if name in _RATES]
    return {"name": case.job.name, "parameter": given[0] if given else _RATES[0]}


def inputs_list(case: HintContext) -> Values | None:
    """Match a MoXing model_fn that uses its inputs as one tensor (pitfall 4-0-1).

    The inputs are always a list.
    """
    match = _match_message(case, _LIST)
    if not match or not any(_MOX_RUN.search(frame.text) for frame in case.failure.frames):
        return None
    if match["given"] and int(match["given"]) != int(match["wanted"]) + 1:
        return None
    return {"place": _place(case)}


def shapes(case: HintContext) -> Values | None:
    if case.raised not in ("ValueError", "InvalidArgumentError") or not _match_message(
        case, _MISFIT
    ):
        return None
    place = _place(case)
    return {"place": place} if place else None


def records_broken(case: HintContext) -> Values | None:
    return {} if case.raised == "DataLossError" and _match_message(case, _BROKEN) else None


def picture_broken(case: HintContext) -> Values | None:
    """Match a file in a MoXing data set that is no image, read without ``skip_corrupted``."""
    match = _match_message(case, _NO_PICTURE)
    if not match:
        return None
    preset = "preset" in case.job.spec.options
    cure = (
        f"danlu rerun {case.job.name} -p skip_corrupted=true" if preset else "skip_corrupted=True"
    )
    return {"file": _uri(case, match["file"]), "cure": cure}


def data_file(case: HintContext) -> Values | None:
    """Match a failed download by ``keras.datasets`` or ``get_file``.

    A job may have no network access.
    """
    match = _match_message(case, _NO_DATA) if case.raised == "DataFileMissing" else None
    if not match:
        return None
    option = input_option(case.job.spec.dialect)
    return {
        "file": match["file"],
        "origin": match["origin"],
        "input": option,
        "variant": "" if option else "no_input",
    }


def _uri(case: HintContext, path: str) -> str:
    """Return the URI of a file of an input; return any other path unchanged."""
    for _, local, uri in case.inputs():
        if below(path, local):
            return uri.rstrip("/") + path.removeprefix(local.rstrip("/"))
    return path


def _place(case: HintContext) -> str:
    """Return file and line that created the failed node, else the innermost line of user code."""
    if node := _NODE.search(case.failure.message):
        return node["place"]
    where = case.failure.where
    return f"{where.file}:{where.line}" if where else ""
