"""The processes that tests of TensorFlow run in."""

import os
import tempfile
from pathlib import Path


def test_a_test_that_hangs_is_killed_and_reported(tmp_path):
    from forked import Template

    hangs = tmp_path / "test_it.py"
    hangs.write_text(
        "import pathlib, time\ndef test_it():\n"
        "    pathlib.Path(__file__).with_name('began').touch()\n    time.sleep(600)\n"
    )
    template = Template("")
    try:
        reports, output = template.run(f"{hangs}::test_it", timeout=8)
        is_alive = template.alive
    finally:
        template.close()

    assert not reports
    assert output.startswith("The test took more than 8 seconds.")
    assert hangs.with_name("began").exists()
    assert not is_alive


def test_test_ending_its_process_is_reported(tmp_path):
    from forked import Template

    ends = tmp_path / "test_it.py"
    ends.write_text("import os\ndef test_it():\n    os._exit(7)\ndef test_next():\n    assert 1\n")
    template = Template("")
    try:
        reports, output = template.run(f"{ends}::test_it", timeout=100)
        further, _ = template.run(f"{ends}::test_next", timeout=100)
    finally:
        template.close()

    assert not reports
    assert output.startswith("The test process exited with 7.")
    assert [report["outcome"] for report in further] == ["passed"] * 3


def test_what_test_imports_is_imported_before_next_starts(tmp_path):
    from forked import Template

    file = tmp_path / "test_it.py"
    file.write_text(
        "import sys\n"
        "def test_first():\n    assert 'editables' not in sys.modules\n    import editables\n"
        "def test_next():\n    assert 'editables' in sys.modules\n"
    )
    template = Template("")
    try:
        found = [
            template.run(f"{file}::{name}", timeout=100) for name in ("test_first", "test_next")
        ]
    finally:
        template.close()

    outcomes = [report["outcome"] for reports, _ in found for report in reports]
    assert outcomes == ["passed"] * 6, found


def test_temporary_files_go_with_the_test(tf):
    beside = Path(os.environ["DANLU_STORE"])

    assert Path(tempfile.gettempdir()).parent == beside.parent
    assert tf.constant(1).dtype == "int32"
    assert os.environ["TMPDIR"] == tempfile.gettempdir()
