"""Environments of other people's tools: each apart from ours, compiled, made once."""

import os
import subprocess
import sys
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "danlu" / "bench"


def programs(name: str, wanted: tuple[str, ...], cache: Path = CACHE) -> Path:
    """Return where the programs of an environment are; made anew where it holds other versions."""
    folder = cache / name
    mark = folder / "installed"
    if not mark.exists() or mark.read_text().split() != list(wanted):
        uv = str(Path(sys.executable).with_name("uv"))
        made = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)]
        subprocess.run(made, check=True)
        fill = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(folder)]
        subprocess.run([*fill, *wanted], check=True)
        mark.write_text("\n".join(wanted))
    return folder / "bin"
