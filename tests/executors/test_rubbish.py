import os

from danlu.executors.rubbish import Rubbish, remove_tree


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


def test_a_tree_is_removed_however_deep_it_is(tmp_path):
    top = tmp_path / "deep"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)

    remove_tree(top)

    assert not top.exists()


def test_read_only_folders_go_too_and_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("k")
    top = tmp_path / "top"
    (top / "inner").mkdir(parents=True)
    (top / "inner" / "file").write_text("x")
    (top / "inner" / "link").symlink_to(outside)
    os.chmod(top / "inner", 0o555)
    os.chmod(top, 0o000)

    remove_tree(top)

    assert not top.exists()
    assert (outside / "kept").exists()
