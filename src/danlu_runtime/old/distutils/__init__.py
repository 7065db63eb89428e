"""``distutils``, which Python 3.12 removed: the parts that scripts used.

``version``: LooseVersion and StrictVersion. ``util``: strtobool and get_platform.
``dir_util``, ``file_util``: copy and remove folders and files. ``spawn``: find_executable.
"""
