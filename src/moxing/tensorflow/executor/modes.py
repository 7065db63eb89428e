"""The modes ``mox.run`` calls a model in, and the kinds of model it writes."""

from typing import Any


class ModeKeys:
    """What ``input_fn`` and ``model_fn`` are called for. EXPORT is chosen by ``mox.run`` alone."""

    TRAIN = "TRAIN"
    EVAL = "EVAL"
    PREDICT = "PREDICT"
    EXPORT = "EXPORT"


ModeKey = ModeKeys  # as the manual writes it in places


class ExportKeys:
    """Kinds of exported models."""

    TF_SERVING = "TF_SERVING"


RUN_MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)
_OLD_WORDS = {"EVALUATION": ModeKeys.EVAL, "EVALUATE": ModeKeys.EVAL, "INFER": ModeKeys.PREDICT}


def mode_of(given: Any) -> str | None:
    """Return the mode that is meant, None for none of those a run can have.

    Scripts pass the words of their own flags: 'train', and 'evaluation' in older ones.
    """
    word = given.upper() if isinstance(given, str) else ""
    word = _OLD_WORDS.get(word, word)
    return word if word in RUN_MODES else None
