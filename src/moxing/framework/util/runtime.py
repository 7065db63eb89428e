"""The log level of MoXing."""

import logging


def reset_logger(level: int | str = logging.INFO) -> None:
    """Set the level of the root logger, which MoXing uses."""
    logging.getLogger().setLevel(level)
