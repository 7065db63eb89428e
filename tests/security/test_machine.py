"""What a job cannot do by way of the machine itself: its wire, its switches, its disks, its groups.

All of it would lead around what is hidden: a token is seen on the wire and on a disk, a switch of
the kernel starts programs outside, a control group ends the processes of others.
"""

import os

from test_attacks import attack
from test_attacks import bench as bench

MACHINE = """
import stat
def opened(path):
    os.close(os.open(path, os.O_WRONLY))
def is_disk(path):  # nothing else is opened: a watchdog, for one, would begin to count
    return stat.S_ISBLK(os.stat(path).st_mode) and os.close(os.open(path, os.O_RDONLY))
def make_group(folder):
    os.mkdir(folder + "/danlu-evil")
    os.rmdir(folder + "/danlu-evil")
attempt("listen on the wire", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("forge a packet", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 255))
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
             "/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled",
             "/proc/irq/default_smp_affinity"):
    attempt("turn " + path, lambda: opened(path))
groups = [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if folder.count("/") < 6]
for folder in groups:
    attempt("make a group in " + folder, lambda: make_group(folder))
    attempt("move into " + folder, lambda: opened(folder + "/cgroup.procs"))
for folder, _, names in os.walk("/dev"):
    for name in names:
        attempt("open the disk " + name, lambda: is_disk(folder + "/" + name))
assert groups or not os.path.exists("/sys/fs/cgroup")
os.close(os.open("/dev/null", os.O_WRONLY))
os.urandom(1)
open("/dev/shm/danlu-test", "w").close()
os.unlink("/dev/shm/danlu-test")
"""


def test_job_cannot_change_machine_or_open_disk(bench):
    assert attack(bench, MACHINE, [os.getpid()]) == []
