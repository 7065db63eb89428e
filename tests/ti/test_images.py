import pytest

from ti import images
from ti.images import Runtime


@pytest.mark.parametrize(
    ("image", "runtime"),
    [
        ("tensorflow:1.14.0", Runtime("tensorflow", "1.14.0")),
        ("ccr.example.com/ti_public/tensorflow:2.0.0-py3", Runtime("tensorflow", "2.0.0")),
        ("ti-tensorflow:1.14-gpu-py2", Runtime("tensorflow", "1.14", "py2")),
        ("tensorflow", Runtime("tensorflow")),
        ("localhost:5000/tf_cpu:latest", Runtime("tensorflow")),
        ("tensorflow:1.15@sha256:00ff", Runtime("tensorflow", "1.15")),
        ("pytorch:1.1.0-py3", Runtime("pytorch", "1.1.0")),
        ("team/python:3.7", Runtime("python", "3.7")),
        ("tensorflow:3.0", None),
        ("team/vision:1.0", None),
        ("", None),
    ],
)
def test_image_name_selects_the_runtime(image, runtime):
    assert images.runtime_of(image) == runtime


def test_user_can_describe_the_image(monkeypatch):
    monkeypatch.setitem(images.RUNTIMES, "team/vision", "tensorflow:1.14")

    assert images.runtime_of("team/vision:7") == Runtime("tensorflow", "1.14")
    assert images.runtime_of("host:5000/team/vision") == Runtime("tensorflow", "1.14")
    assert images.runtime_of("other/vision") is None


def test_missing_version_is_detected_from_code():
    assert images.Runtime("tensorflow").tensorflow == "auto"


@pytest.mark.parametrize(
    ("image", "name"), [("a.b:5000/team/vision:3", "vision"), ("tensorflow", "tensorflow")]
)
def test_jobs_are_called_after_the_last_part(image, name):
    assert images.base_name(image) == name
