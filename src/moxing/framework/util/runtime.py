"""How much MoXing says."""

import logging


def reset_logger(level: int | str = logging.INFO) -> None:
    """Let the root logger, and so MoXing, say what is of this level and above."""
    logging.getLogger().setLevel(level)
