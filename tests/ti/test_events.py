"""Event files of ours against a reader that is TensorBoard's own."""

from danlu.summaries.events import EventFile as Reader
from danlu.summaries.events import Scalar
from ti.tensorflow.events import EventFile


def test_tensorboard_reads_what_is_written(tmp_path):
    file = EventFile(tmp_path / "logs")
    file.add("loss", 0, 1.5, 0.5)
    file.add("精度", 300, 2.5, float("inf"))

    (path,) = (tmp_path / "logs").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    assert list(Reader(str(path)).read()) == [
        Scalar("loss", 0, 1.5, 0.5),
        Scalar("精度", 300, 2.5, float("inf")),
    ]
