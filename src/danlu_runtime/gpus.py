"""Whether this process may use a GPU."""

import glob
import os


def has_gpu() -> bool:
    """Tell it without asking the driver, which would start devices in this process."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = shown is not None and (not shown.strip() or shown.strip().startswith("-"))
    return not hidden and bool(glob.glob("/dev/nvidia[0-9]*"))
