"""Event files of ours against a reader that is TensorBoard's own."""

from danlu.agent.reports.curves import EventFileReader as Reader
from danlu.agent.reports.curves import Scalar
from ti.tensorflow.board import EventFileWriter


def test_tensorboard_reads_what_is_written(tmp_path):
    file = EventFileWriter(tmp_path / "logs")
    file.add("loss", 0, 1.5, 0.5)
    file.add("精度", 300, 2.5, float("inf"))
    file.close()

    (path,) = (tmp_path / "logs").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    assert list(Reader(str(path)).read()) == [
        Scalar("loss", 0, 1.5, 0.5),
        Scalar("精度", 300, 2.5, float("inf")),
    ]
