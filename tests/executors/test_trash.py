from danlu.executors.local import Trash


def test_discarded_folder_is_hidden_then_removed(tmp_path):
    folder = tmp_path / "work" / "job"
    folder.mkdir(parents=True)
    (folder / "x").write_text("x")
    trash = Trash(tmp_path / "rubbish")

    trash.discard(folder)

    assert not folder.exists()
    trash.wait(30)
    assert list((tmp_path / "rubbish").iterdir()) == []


def test_what_killed_process_left_goes_with_next(tmp_path):
    (tmp_path / "rubbish" / "old" / "deep").mkdir(parents=True)

    Trash(tmp_path / "rubbish").wait(30)

    assert list((tmp_path / "rubbish").iterdir()) == []


def test_what_is_not_there_is_no_error(tmp_path):
    Trash(tmp_path / "rubbish").discard(tmp_path / "nothing")


def test_removed_trash_folder_is_created_again(tmp_path):
    """A user with a full disk does this by hand."""
    (bin := tmp_path / "rubbish").mkdir()
    trash = Trash(bin)
    trash.wait(30)
    bin.rmdir()
    trash._start()  # as for a folder discarded just before
    trash.wait(30)
    (folder := tmp_path / "job").mkdir()

    trash.discard(folder)
    trash.wait(30)

    assert list(bin.iterdir()) == []
