"""What the probe answers when it cannot try: nothing, and never "the kernel does not allow it"."""

import errno
import os

import pytest

from danlu.sandbox import kernel, root
from danlu.sandbox.probe import probe

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")


@pytest.fixture
def disk(tmp_path):
    """Mounts a small disk; its options are those of tmpfs."""
    mounted = []

    def mount(options):
        folder = tmp_path / f"disk-{len(mounted)}"
        folder.mkdir()
        kernel.mount("tmpfs", str(folder), "tmpfs", options=options)
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        kernel.unmount(str(folder))


def answer(folder):
    """Return the result of the probe; None if it could not try."""
    try:
        return probe(folder)
    except OSError:
        return None


@needs_root
def test_answer_is_right_with_few_free_files(disk, capfd):
    whole = probe(disk("size=4m") / "work")
    assert whole[0] == "root"

    answers = [answer(disk(f"size=4m,nr_inodes={most}") / "work") for most in range(2, 90, 3)]

    assert answers[0] is None
    assert answers[-1] == whole
    assert set(answers) == {None, whole}


@needs_root
def test_probe_on_full_disk_gives_no_answer(disk):
    folder = disk("size=1m")
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        file.writelines(bytes(4096) for _ in range(1000))

    assert answer(folder / "work") is None
    ballast.unlink()
    assert probe(folder / "work")[0] == "root"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.EIO])
def test_an_error_that_passes_is_no_refusal(number):
    assert not kernel.is_refusal(OSError(number, "x"))


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS, errno.EINVAL, errno.ENODEV])
def test_missing_kernel_feature_is_a_refusal(number):
    assert kernel.is_refusal(OSError(number, "x"))


def test_enospc_for_namespaces_is_a_refusal(tmp_path):
    """With user.max_user_namespaces = 0 unshare fails with "No space left on device"."""
    limit = "/proc/sys/user/max_user_namespaces"
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        message = "nothing"
        try:
            # In a user namespace of our own the limit is ours alone.
            kernel.unshare(kernel.CLONE_NEWUSER)
            with open(limit, "w", encoding="ascii") as file:
                file.write("0")
            kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
        except OSError as error:
            message = errno.errorcode[error.errno or 0]
        finally:
            os.write(writing, message.encode())
            os._exit(0)
    os.close(writing)
    os.waitpid(pid, 0)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"EPERM"


def fails_with(number):
    def call(*_arguments, **_named):
        raise OSError(number, os.strerror(number))

    return call


def test_temporary_sandbox_failure_is_not_ignored(monkeypatch):
    monkeypatch.setattr(kernel, "bind", fails_with(errno.ENOMEM))
    with pytest.raises(OSError, match="allocate memory"):
        root.guard("/nowhere")

    monkeypatch.setattr(kernel, "bind", fails_with(errno.EPERM))
    assert "/proc/sys" in root.guard("/nowhere")


def test_line_that_cannot_be_drawn_is_kept(monkeypatch):
    monkeypatch.setattr(kernel.ctypes, "get_errno", lambda: errno.ENOMEM)
    with pytest.raises(OSError, match="landlock"):
        kernel._refused()

    monkeypatch.setattr(kernel.ctypes, "get_errno", lambda: errno.EOPNOTSUPP)
    assert kernel._refused() is False
