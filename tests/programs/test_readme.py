"""The job of the README, as a reader runs it."""

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_script_of_2017_learns(person):
    script = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    run, store, show = re.findall(r"^danlu ((?:run|store|show) .*)$", README, re.MULTILINE)
    (person.folder / "train.py").write_text(script)
    (person.folder / "data").mkdir()
    (person.folder / "data" / "points.csv").write_text("0,1\n")

    done = person.types(*run.split())

    assert done.returncode == 0, done.stderr
    assert float(re.search(r"loss = ([0-9.]+)", done.stdout)[1]) < 1e-4
    assert "model.ckpt.index" in person.types(*store.split()).stdout
    reported = person.types(*show.split()).stdout
    assert "xrange" in reported
    assert "tf.contrib.layers" in reported
