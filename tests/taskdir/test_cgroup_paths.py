"""Paths of cgroups on machines of all kinds, from the files of their kernels."""

from pathlib import Path

import pytest

from danlu.sandbox import cgroup

UNIFIED = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = (
    "31 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    "32 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 25 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
)
OLD = (
    "8:pids:/user.slice\n4:cpu,cpuacct:/cpus\n1:name=systemd:/user.slice\n0::/user.slice/x.scope\n"
)


@pytest.mark.parametrize(
    ("mounts", "groups", "controller", "found"),
    [
        (UNIFIED, "0::/user.slice/a.scope\n", "", "/sys/fs/cgroup/user.slice/a.scope"),
        (UNIFIED, "0::/\n", "", "/sys/fs/cgroup"),
        (UNIFIED, "0::/\n", "pids", None),
        (HYBRID, OLD, "", "/sys/fs/cgroup/unified/user.slice/x.scope"),
        (HYBRID, OLD, "pids", "/sys/fs/cgroup/pids/user.slice"),
        (HYBRID, OLD, "cpu", "/sys/fs/cgroup/cpu,cpuacct/cpus"),
        (HYBRID, "8:pids:/\n0::/\n", "pids", "/sys/fs/cgroup/pids"),
        (HYBRID, OLD, "memory", None),
        ("30 25 0:26 / /mnt/a\\040b rw - cgroup2 none rw\n", "0::/x\n", "", "/mnt/a b/x"),
        ("30 25 0:26 / /proc rw - proc proc rw\n", "0::/\n", "", None),
        ("", "", "", None),
    ],
)
def test_control_group_is_found_at_any_mount(mounts, groups, controller, found):
    assert cgroup.find_group(mounts, groups, controller) == (found and Path(found))


@pytest.mark.parametrize(
    ("own", "found"),
    [("/docker/1f", "/cg"), ("/docker/1f/x", "/cg/x"), ("/docker/1ff", None), ("/../2", None)],
)
def test_container_is_shown_part_of_tree(own, found):
    mounts = "30 25 0:26 /docker/1f /cg rw - cgroup2 cgroup2 rw\n"

    assert cgroup.find_group(mounts, f"0::{own}\n") == (found and Path(found))


def parent(folder, controllers, control="", *, root=True):
    (folder / "cgroup.controllers").write_text(controllers)
    (folder / "cgroup.subtree_control").write_text(control)
    if not root:
        (folder / "cgroup.type").write_text("domain\n")
    return folder


@pytest.mark.parametrize(
    ("controllers", "control", "written"),
    [
        ("cpu memory pids\n", "", "+pids"),
        ("cpu memory pids\n", "cpu pids\n", "cpu pids\n"),
        ("cpu memory\n", "", ""),
        ("", "", ""),
    ],
)
def test_what_was_given_to_us_is_handed_on(tmp_path, controllers, control, written):
    cgroup.delegate_counting(parent(tmp_path, controllers, control))

    assert (tmp_path / "cgroup.subtree_control").read_text() == written


def test_container_root_cgroup_stays_enterable(tmp_path, monkeypatch):
    monkeypatch.setattr(
        cgroup, "_read_file", lambda path: "0::/\n" if "self" in str(path) else "pids"
    )

    cgroup.delegate_counting(parent(tmp_path, "pids", root=False))

    assert (tmp_path / "cgroup.subtree_control").read_text() == ""
