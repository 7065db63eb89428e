import pytest

from danlu.job.describe import moving_line

NOW = 100.0


def view(state="running", phases=(), transfer=None, **more):
    progress = {"phases": [{"name": n, "began": t} for n, t in phases], "transfer": transfer}
    task = {"role": "worker", "index": 0, "progress": progress, "outcome": None}
    history = [{"state": state, "at": 95.0}]
    return {"name": "mnist", "state": state, "created": 90.0, "history": history,
            "tasks": [task] if phases else [], **more}  # fmt: skip


def moving(what="data_url", *, cached=False):
    return {"what": what, "done": 120e6, "total": 1.2e9, "rate": 85e6, "cached": cached}


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (view("queued"), "mnist: queued 5.0 s"),
        (view("starting"), "mnist: starting 5.0 s"),
        (view(phases=[("prepare", 99.0)]), "mnist: prepare  1.0 s"),
        (
            view(phases=[("fetch data_url", 90.0)], transfer=moving()),
            "mnist: fetch data_url  [##..................]  120.0 MB / 1.2 GB  85.0 MB/s",
        ),
        (
            view(phases=[("fetch data_url", 90.0)], transfer=moving(cached=True)),
            "mnist: fetch data_url  cached",
        ),
        (view(phases=[("fetch code", 90.0), ("run", 91.0)]), ""),
        (view("succeeded", phases=[("run", 91.0)]), ""),
    ],
)
def test_the_moving_line(seen, line):
    assert moving_line(seen, NOW) == line


def test_phase_of_later_version_is_shown_unchanged():
    assert moving_line(view(phases=[("warm up", 99.0)]), NOW) == "mnist: warm up  1.0 s"
