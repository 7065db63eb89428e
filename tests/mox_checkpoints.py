"""What a run of MoXing has saved."""

from typing import Any


def values_in(tf: Any, log_dir: Any) -> dict[str, Any]:
    """Return every variable of the newest checkpoint."""
    reader = tf.train.load_checkpoint(str(log_dir))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def steps_in(log_dir: Any) -> list[int]:
    """Return the steps of the checkpoints in a directory."""
    return sorted(int(path.stem.rsplit("-", 1)[1]) for path in log_dir.glob("model.ckpt-*.index"))
