"""The environment of the installer: this machine's own configuration of uv, else that of pip.

Where packages come from is decided by whoever runs the server, as for any other installation on
this machine. Addresses may hold passwords: they are handed over as variables, never as arguments.
"""

import configparser
import os
import sys
from collections.abc import Mapping
from pathlib import Path

_PLAIN = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "NETRC"),
        *("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    )
)
# What we say ourselves on each call.
_OURS = (
    *("UV_PYTHON", "UV_SYSTEM_PYTHON", "UV_TARGET", "UV_PREFIX", "UV_OVERRIDE", "UV_CONSTRAINT"),
    *("UV_BUILD_CONSTRAINT", "UV_REQUIRE_HASHES", "UV_PROJECT", "UV_WORKING_DIR", "UV_LINK_MODE"),
    *("UV_NO_BUILD_ISOLATION", "UV_RESOLUTION", "UV_BREAK_SYSTEM_PACKAGES"),
)
NO_INDEX = "UV_NO_INDEX"  # of our own making: uv knows it as an argument only
INDEX = (
    *("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"),
    *(NO_INDEX, "UV_OFFLINE", "UV_INDEX_STRATEGY", "UV_CONFIG_FILE"),
)


def installer_environment(own: Mapping[str, str], hidden: Path, scratch: Path) -> dict[str, str]:
    """Return it; ``own`` is the environment of the agent, ``hidden`` what a task does not see.

    Where uv cannot use its usual cache, it has ``scratch``.
    """
    kept = {name: value for name, value in own.items() if name.upper() in _PLAIN}
    kept |= {k: v for k, v in own.items() if k.startswith("UV_") and k not in _OURS}
    if not any(name in own for name in INDEX) and not _has_uv_file(own):
        kept |= {**_of_pip(pip_options(own)), **kept}
    if not _can_cache(kept, hidden):
        kept["UV_CACHE_DIR"] = str(scratch)
    return {
        **kept,
        "NO_COLOR": "1",
        "UV_NO_PROGRESS": "1",
        "UV_LINK_MODE": "copy",  # a file shared with uv's cache could be written through
        "UV_PYTHON_DOWNLOADS": "never",
    }


def pip_options(own: Mapping[str, str]) -> dict[str, str]:
    """Return what pip's files and variables say, by the names they have in its files."""
    found: dict[str, str] = {}
    for path in _pip_files(own):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        for section in ("global", "install"):
            if parser.has_section(section):
                found |= {k.replace("_", "-"): v for k, v in parser.items(section)}
    for name, value in own.items():
        if name.startswith("PIP_"):
            found[name[4:].lower().replace("_", "-")] = value
    return found


def _of_pip(options: Mapping[str, str]) -> dict[str, str]:
    """Return pip's words in uv's."""
    found: dict[str, str] = {}
    if options.get("index-url"):
        found["UV_DEFAULT_INDEX"] = options["index-url"]
    if options.get("extra-index-url"):
        found["UV_INDEX"] = " ".join(options["extra-index-url"].split())
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # pip looks into all of them
    if options.get("find-links"):
        found["UV_FIND_LINKS"] = ",".join(options["find-links"].split())
    if options.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        found[NO_INDEX] = "1"
    if options.get("trusted-host"):
        found["UV_INSECURE_HOST"] = " ".join(options["trusted-host"].split())
    if options.get("cert"):
        found["SSL_CERT_FILE"] = options["cert"]
    if options.get("proxy"):
        found["HTTP_PROXY"] = found["HTTPS_PROXY"] = options["proxy"]
    timeout = options.get("timeout") or options.get("default-timeout")
    if timeout:
        found["UV_HTTP_TIMEOUT"] = timeout
    return found


def _pip_files(own: Mapping[str, str]) -> list[Path]:
    """Return where pip looks, in its order: the last one wins."""
    named = own.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    home = Path(own.get("HOME") or "/nonexistent")
    config = Path(own.get("XDG_CONFIG_HOME") or home / ".config")
    shared = [Path(folder, "pip/pip.conf") for folder in _config_dirs(own)]
    personal = [home / ".pip/pip.conf", config / "pip/pip.conf"]
    own_file = [Path(sys.prefix, "pip.conf"), *([Path(named)] if named else [])]
    return [*shared, Path("/etc/pip.conf"), *personal, *own_file]


def _has_uv_file(own: Mapping[str, str]) -> bool:
    config = own.get("XDG_CONFIG_HOME") or str(Path(own.get("HOME") or "/nonexistent", ".config"))
    folders = [config, *_config_dirs(own), "/etc"]
    return any(Path(folder, "uv/uv.toml").is_file() for folder in folders)


def _config_dirs(own: Mapping[str, str]) -> list[str]:
    return [folder for folder in (own.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if folder]


def _can_cache(env: Mapping[str, str], hidden: Path) -> bool:
    """Tell whether uv's cache can be written, or made, from inside the task's place."""
    usual = Path(env.get("XDG_CACHE_HOME") or Path(env.get("HOME") or "/nonexistent", ".cache"))
    at = Path(os.path.realpath(env.get("UV_CACHE_DIR") or usual / "uv"))
    if at.is_relative_to(os.path.realpath(hidden)):
        return False
    while not at.exists():
        at = at.parent
    return at != Path("/") and os.access(at, os.W_OK)
