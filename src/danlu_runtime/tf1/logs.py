"""TensorFlow's log lines, once each.

``tf.app.run`` gives the root logger absl's handler, and TensorFlow's logger has one of its own:
every line would be printed twice, in two forms. TensorFlow 1 printed ``INFO:tensorflow:…``.
For absl-py 2.
"""

import logging


def print_once() -> None:
    from absl import logging as absl_logging

    absl_logging.get_absl_handler().addFilter(_is_not_printed_yet)


def _is_not_printed_yet(record: logging.LogRecord) -> bool:
    return record.name != "tensorflow" or not logging.getLogger("tensorflow").handlers
