"""`tf.contrib.learn.ExportStrategy`: a name and a function that exports an estimator."""

import collections
import inspect
from typing import Any


class ExportStrategy(
    collections.namedtuple("ExportStrategy", ["name", "export_fn", "strip_default_attrs"])
):
    """Exports go to `<model_dir>/export/<name>`."""

    def __new__(
        cls, name: str, export_fn: Any, strip_default_attrs: bool | None = None
    ) -> "ExportStrategy":
        return super().__new__(cls, name, export_fn, strip_default_attrs)

    def export(
        self,
        estimator: Any,
        export_path: Any,
        checkpoint_path: str | None = None,
        eval_result: Any = None,
    ) -> Any:
        """Export; the function is given only the arguments it has.

        Raises:
            ValueError: the function lacks `estimator` or `export_dir_base`, or has no use for a
                checkpoint or result that was given.
        """
        taken = inspect.signature(self.export_fn).parameters
        given: dict[str, Any] = {}
        for name, value in (("checkpoint_path", checkpoint_path), ("eval_result", eval_result)):
            if name in taken:
                given[name] = value
            elif name == "checkpoint_path" and value is not None:
                raise ValueError(
                    "An export_fn accepting checkpoint_path is required to export a given "
                    "checkpoint."
                )
        if "strip_default_attrs" in taken and self.strip_default_attrs is not None:
            given["strip_default_attrs"] = self.strip_default_attrs
        return self.export_fn(estimator, export_path, **given)
