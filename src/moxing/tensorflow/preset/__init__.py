"""Preset models: networks that are trained, evaluated and exported with parameters only.

``danlu run --preset resnet_v1_50`` starts a program that calls :func:`main`. It uses ``mox.run``
and the data sets, networks and optimizers of MoXing. A script may call :func:`train`.

``arguments``: reads and checks the command line. ``data``: finds the data: images or TFRecord.
``model``: the functions for ``mox.run``. ``program``: the run, from data to exported model.
"""

import os
import sys
from collections.abc import Sequence

_MOXING = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def train(name: str, argv: Sequence[str] | None = None) -> None:
    """Train the network ``name`` on ``--data_url``; everything it writes goes to ``--train_url``.

    ``argv`` is what follows a script's name; None: that of the process. With ``--run_mode=eval``
    the checkpoint of ``--checkpoint_url`` is evaluated instead.

    Raises:
        ValueError: parameters or data are not what they must be, a sentence for each.
        Unsupported: Danlu does not build the network.
    """
    from moxing.tensorflow.preset import arguments

    asked = arguments.read(name, sys.argv[1:] if argv is None else argv)
    from moxing.tensorflow.preset import program  # TensorFlow comes with it

    program.run(asked)


def main(name: str) -> None:
    """Train as a program: what the user can correct ends it with a sentence, not a traceback."""
    try:
        train(name)
    except ValueError as error:
        if not _is_own_error(error):
            raise
        sys.exit(str(error))


def _is_own_error(error: ValueError) -> bool:
    """Return True if MoXing raised the error, and no library below it."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(
        _MOXING + os.sep
    )
