"""Isolation of a process on Linux, without other programs; root rights are not needed.

``entry``: enters the sandbox and executes the program; a process of one thread.
``root``: builds the root directory that the program sees.
``kernel``: system calls that Python does not offer, with Landlock and capabilities.
``cgroup``: one control group per task.
``probe``: finds out what the kernel allows by trying it.
"""
