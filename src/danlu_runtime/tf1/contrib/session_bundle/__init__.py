"""`tf.contrib.session_bundle`: exports as scripts of 2016 wrote them; they become SavedModels."""

from danlu_runtime.tf1.contrib.session_bundle import (
    constants,
    exporter,
    manifest_pb2,
    session_bundle,
)
from danlu_runtime.tf1.contrib.session_bundle.session_bundle import (
    load_session_bundle_from_path,
)

GONE = {"bundle_shim": "removed.bundle_shim"}
