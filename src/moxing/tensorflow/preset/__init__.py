"""Preset models: a network of the zoo trained, evaluated and exported, with parameters only.

``danlu run --preset resnet_v1_50`` starts a program that calls :func:`train`; so may your own. It
uses ``mox.run`` and the data sets, networks and optimizers of MoXing as any script would.
"""

import sys
from collections.abc import Sequence


def train(name: str, argv: Sequence[str] | None = None) -> None:
    """Train the network ``name`` on ``--data_url``; everything it writes goes to ``--train_url``.

    ``argv`` is what follows a script's name; None: that of the process. With ``--run_mode=eval``
    the checkpoint of ``--checkpoint_url`` is evaluated instead.

    Raises:
        ValueError: parameters or data are not what they must be, a sentence for each.
    """
    from moxing.tensorflow.preset import arguments

    asked = arguments.read(name, sys.argv[1:] if argv is None else argv)
    from moxing.tensorflow.preset import program  # TensorFlow comes with it

    program.run(asked)
