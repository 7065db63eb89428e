from danlu.executors.rubbish import Rubbish


def test_a_folder_is_out_of_sight_at_once_and_gone_soon(tmp_path):
    folder = tmp_path / "work" / "job"
    folder.mkdir(parents=True)
    (folder / "x").write_text("x")
    rubbish = Rubbish(tmp_path / "rubbish")

    rubbish.take(folder)

    assert not folder.exists()
    rubbish.wait(30)
    assert list((tmp_path / "rubbish").iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next(tmp_path):
    (tmp_path / "rubbish" / "old" / "deep").mkdir(parents=True)

    Rubbish(tmp_path / "rubbish").wait(30)

    assert list((tmp_path / "rubbish").iterdir()) == []


def test_what_is_not_there_is_no_error(tmp_path):
    Rubbish(tmp_path / "rubbish").take(tmp_path / "nothing")


def test_a_bin_that_somebody_has_removed_is_made_again(tmp_path):
    """As who has no room left on the disk does by hand."""
    (bin := tmp_path / "rubbish").mkdir()
    rubbish = Rubbish(bin)
    rubbish.wait(30)
    bin.rmdir()
    rubbish._start()  # as by one who came just before that
    rubbish.wait(30)
    (folder := tmp_path / "job").mkdir()

    rubbish.take(folder)
    rubbish.wait(30)

    assert list(bin.iterdir()) == []
