"""SavedModels in object stores that become models for TensorFlow Lite.

The converter holds Python's lock while threads of its own read the model. From a store they would
wait for that lock, and it for them, for ever: so the model is brought to this machine first.
"""

import functools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any


def enter(module: ModuleType) -> None:
    """Called when ``tensorflow.lite.python.convert`` has been loaded."""
    convert = module.convert_saved_model

    @functools.wraps(convert)
    def convert_saved_model(**flags: Any) -> Any:
        with _brought(flags) as here:
            return convert(**here)

    module.convert_saved_model = convert_saved_model  # type: ignore[attr-defined]


@contextmanager
def _brought(flags: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the flags of a conversion, with a folder of this machine for one of a store."""
    from danlu.storage.paths_place import folder_at, is_remote, place
    from danlu.storage.trees import pull

    name = flags.get("saved_model_dir")
    if name is None or not is_remote(name):
        yield flags
        return
    location = place(name)
    found = replace(location, key=folder_at(location) or location.key)
    with tempfile.TemporaryDirectory(prefix="danlu-lite-") as folder:
        pull(found, Path(folder))
        yield {**flags, "saved_model_dir": folder}
