"""Cards for what TensorFlow says: checkpoints, placeholders, shapes, a loss that is no number.

Its messages were folded to one line when the failure was recorded (danlu_runtime/graph_errors.py):
what is wrong, then ``; variable '…'`` and ``; node '…' is made at FILE:LINE`` where that is known.
"""

import re

from danlu.service.card_case import Case, Values, below

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
    r"|Tensor had (?:NaN|Inf|-Inf|\+Inf)|(?:loss|values) .{0,200}became NaN"
)
_MISFIT = re.compile(
    r"Dimensions? .{0,200}must be equal|Matrix size-incompatible|Dimensions of inputs should match"
    r"|Incompatible shapes|Shapes? .{0,200}(?:must have rank|must be rank|are incompatible)"
    r"|Shape must be rank|[Cc]annot reshape a tensor|Input to reshape is a tensor with"
    r"|requires shapes of both tensors to match|Depth of input|is incompatible with the layer"
)
_BROKEN = re.compile(r"corrupted record at|truncated record at|Is this even a TFRecord file")
_NO_PICTURE = re.compile(r"(?P<file>[^\[]+): these bytes are no image that can be decoded")
_NO_DATA = re.compile(r"\A(?P<file>\S+) is in none of .+, and (?P<origin>\S+) could not be read")
_NODE = re.compile(r"; node '[^']+' is made at (?P<place>\S+:\d+)")
_RATES = ("learning_rate", "lr", "learning-rate", "base_lr", "initial_learning_rate")


def _says(case: Case, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return pattern.search(case.failure.message) if case.raised else None


def checkpoint_key(case: Case) -> Values | None:
    """A model that was changed meets the checkpoint of what it was."""
    said = _says(case, _KEY)
    return {"variable": said["variable"]} if said else None


def checkpoint_shape(case: Case) -> Values | None:
    said = _says(case, _ASSIGN)
    if not said or not case.failure.message.startswith("Restoring from checkpoint failed"):
        return None
    return {
        "variable": said["variable"] or "?",
        "model": said["model"],
        "saved": said["saved"],
    }


def checkpoint_none(case: Case) -> Values | None:
    said = _says(case, _NO_CHECKPOINT)
    return {"path": said["path"] or "None"} if said and case.raised == "ValueError" else None


def checkpoint_folder(case: Case) -> Values | None:
    said = _says(case, _NO_FOLDER)
    return {"path": said["path"]} if said and case.raised == "ValueError" else None


def placeholder_not_fed(case: Case) -> Values | None:
    said = _says(case, _NOT_FED)
    return {"tensor": said["tensor"], "place": _place(case)} if said else None


def placeholder_shape(case: Case) -> Values | None:
    said = _says(case, _FED)
    if not said or case.raised != "ValueError":
        return None
    wanted = said["wanted"].replace("?", "-1").replace("None", "-1")
    return {
        "tensor": said["tensor"].removesuffix(":0"),
        "given": said["given"],
        "wanted": wanted,
    }


def variable_unset(case: Case) -> Values | None:
    said = _says(case, _UNSET)
    return {"variable": said["variable"]} if said else None


def label_range(case: Case) -> Values | None:
    said = _says(case, _LABEL)
    if not said:
        return None
    classes = int(said["classes"])
    return {"label": said["label"], "classes": classes, "last": classes - 1}


def loss_no_number(case: Case) -> Values | None:
    if not _says(case, _NO_NUMBER):
        return None
    given = [name for name, _ in case.job.spec.params if name in _RATES]
    return {"name": case.job.name, "parameter": given[0] if given else _RATES[0]}


def shapes(case: Case) -> Values | None:
    if case.raised not in ("ValueError", "InvalidArgumentError") or not _says(case, _MISFIT):
        return None
    place = _place(case)
    return {"place": place} if place else None


def records_broken(case: Case) -> Values | None:
    return {} if case.raised == "DataLossError" and _says(case, _BROKEN) else None


def picture_broken(case: Case) -> Values | None:
    """A data set of MoXing met a file that is no picture, and was not told to leave it out."""
    said = _says(case, _NO_PICTURE)
    if not said:
        return None
    preset = "preset" in case.job.spec.options
    cure = (
        f"danlu rerun {case.job.name} -p skip_corrupted=true" if preset else "skip_corrupted=True"
    )
    return {"file": _uri(case, said["file"]), "cure": cure}


def data_file(case: Case) -> Values | None:
    """``keras.datasets`` and ``get_file`` download, and a job may have no way out."""
    said = _says(case, _NO_DATA) if case.raised == "DataFileMissing" else None
    return {"file": said["file"], "origin": said["origin"]} if said else None


def _uri(case: Case, path: str) -> str:
    """Return where a file of an input comes from; any other path as it is."""
    for _, local, uri in case.inputs():
        if below(path, local):
            return uri.rstrip("/") + path.removeprefix(local.rstrip("/"))
    return path


def _place(case: Case) -> str:
    """Return the line that made the node that failed, else the innermost of the user's own."""
    if node := _NODE.search(case.failure.message):
        return node["place"]
    where = case.failure.where
    return f"{where.file}:{where.line}" if where else ""
