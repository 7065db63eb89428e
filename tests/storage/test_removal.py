import os
import threading

from danlu.storage.folders import remove_tree


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


def test_read_only_folders_are_removed_links_not_followed(tmp_path):
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


def test_what_is_not_there_is_no_error(tmp_path):
    remove_tree(tmp_path / "nothing")


def test_several_may_remove_the_same_folder_at_once(tmp_path):
    top = tmp_path / "top"
    for n in range(200):
        (top / f"a{n}" / "b" / "c").mkdir(parents=True)
        (top / f"a{n}" / "b" / "file").write_text("x")
    troubles = []

    def work():
        try:
            remove_tree(top)
        except OSError as error:
            troubles.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert troubles == []
    assert not top.exists()
