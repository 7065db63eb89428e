"""`tensorflow.contrib.session_bundle.gc`: which exports to keep; the same as contrib.learn's."""

from danlu_runtime.tf1.contrib.learn.utils.gc import (
    Path,
    get_paths,
    largest_export_versions,
    mod_export_version,
    negation,
    one_of_every_n_export_versions,
    union,
)

__all__ = [
    "Path",
    "get_paths",
    "largest_export_versions",
    "mod_export_version",
    "negation",
    "one_of_every_n_export_versions",
    "union",
]
