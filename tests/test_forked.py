"""The processes that tests of TensorFlow run in."""

import os
import tempfile
from pathlib import Path


def test_a_test_that_hangs_is_told_and_the_next_one_runs(tmp_path):
    from forked import Template

    hangs = tmp_path / "test_it.py"
    hangs.write_text("import time\ndef test_it():\n    time.sleep(600)\n")
    template = Template("")

    code, output = template.run(str(hangs), timeout=3)

    assert code == 1
    assert output.startswith("It took more than 3 seconds.")
    assert not template.alive


def test_temporary_files_go_with_the_test(tf):
    beside = Path(os.environ["DANLU_STORE"])

    assert Path(tempfile.gettempdir()).parent == beside.parent
    assert tf.constant(1).dtype == "int32"
    assert os.environ["TMPDIR"] == tempfile.gettempdir()
