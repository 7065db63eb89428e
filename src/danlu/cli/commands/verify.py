"""The command ``danlu verify``: run a script on the real TensorFlow 1.15.5 and on Danlu."""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from danlu.cli.commands.python import FOREGROUND, Program, choose, environment, read
from danlu.cli.options import CliCommand
from danlu.cli.session import Session
from danlu.errors import Refused
from danlu.job.spec import TENSORFLOW_1
from danlu.messages import get_message

_WORDS = "danlu.cli.verify_words"
_DEVICES = "-1"  # none: the reference needs a CUDA that no driver of today has
# Variables of this process that another Python must not get.
_OURS = ("DANLU_", "UV_", "PIP_", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "TF_USE_LEGACY")
_TOLERANCE = 1e-3


class Verify(CliCommand):
    """A command that parses options up to the script. The rest belongs to the script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = 0
        flags = {spelling for each in self.params if getattr(each, "is_flag", False)
                 for spelling in each.opts}  # fmt: skip
        while at < len(args) and args[at].startswith("--") and args[at] != "--":
            at += 1 if args[at] in flags or "=" in args[at] else 2
        at += args[at : at + 1] == ["-h"]
        own, rest = args[:at], args[at:]
        ctx.meta[_WORDS] = rest[1:] if rest[:1] == ["--"] else rest
        return super().parse_args(ctx, own)


@click.command("verify", cls=Verify)
@click.option("--tolerance", type=float, default=_TOLERANCE, help="option.tolerance")
@click.option("--seed", type=int, default=1, help="option.seed")
@click.option("--reference", default="", metavar="PYTHON", help="option.reference")
@click.option("--fetch-python", is_flag=True, help="option.fetch_python")
@click.option("--with", "extra", multiple=True, metavar="PACKAGE", help="option.with")
@click.option("--timeout", type=float, default=0.0, metavar="SECONDS", help="option.verify_timeout")
@click.option("--keep", default="", type=click.Path(), metavar="FOLDER", help="option.keep_runs")
@click.pass_obj
def verify_command(
    session: Session,
    tolerance: float,
    seed: int,
    reference: str,
    fetch_python: bool,
    extra: tuple[str, ...],
    timeout: float,
    keep: str,
) -> int:
    """Run a script on the real TensorFlow 1.15.5 and on Danlu, and compare what both did.

    \b
    danlu verify train.py --max_steps 100
    danlu verify --tolerance 0.01 -m trainer.task --max_epochs 3
    """
    target = _target(click.get_current_context().meta[_WORDS])
    from danlu.cli.verify.reference import ReferenceMaker

    settings = session.settings
    maker = ReferenceMaker(
        settings.home,
        session.env,
        given=reference or settings.reference,
        extra=extra,
        fetch=fetch_python,
    )
    python = maker.python(session.screen.print_message)
    if keep:
        folder = Path(keep).absolute()
        if folder.exists() and any(folder.iterdir()):
            raise Refused.from_key("verify.not_empty", path=keep)
        folder.mkdir(parents=True, exist_ok=True)
        return _verify(session, target, python, folder, (tolerance, seed, timeout))
    from danlu.storage.folders import remove_tree

    base = settings.home / "verify"
    base.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=base))
    try:
        return _verify(session, target, python, folder, (tolerance, seed, timeout))
    finally:
        remove_tree(folder)


def _target(words: Sequence[str]) -> Program:
    if not words:
        raise Refused.from_key("verify.no_script")
    target = read(words)
    if target.kind not in ("file", "module") or target.flags:
        raise Refused.from_key("verify.no_script")
    return target


def _verify(
    session: Session,
    target: Program,
    python: str,
    folder: Path,
    asked: tuple[float, int, float],
) -> int:
    from danlu.cli.verify import isolated_run
    from danlu.cli.verify.comparison import AGREE, Comparison
    from danlu.cli.verify.isolated_run import Script, Side
    from danlu.cli.verify.paths import outside, uris
    from danlu.cli.verify.report import lines
    from danlu.cli.verify.tensors import TensorFiles, TensorReader
    from danlu.executors.machine import probe
    from danlu.job.plan import Isolation

    tolerance, seed, timeout = asked
    cwd = os.path.realpath(os.getcwd())
    programs = [os.path.dirname(os.path.realpath(python)), os.path.dirname(os.path.dirname(python))]
    theirs = reference_environment(session.env, python)
    ours = {
        **fixed_environment(session.env),
        **environment(fixed_environment(session.env), target, choose(TENSORFLOW_1, target)),
    }
    sides = (
        Side(
            "reference",
            [python, "-s"],
            theirs,
            readable=[os.path.dirname(programs[0]), programs[1]],
        ),
        Side("danlu", [sys.executable], ours, str(FOREGROUND)),
    )
    script = Script(target.words, cwd, outside(target.words, cwd), seed)
    without = session.settings.isolation == "none"
    isolation = Isolation() if without else probe(folder)
    reference, danlu = (
        isolated_run.run(
            side,
            script,
            folder / side.name,
            isolation,
            timeout=timeout,
            tick=_ticker(session, side.name),
        )
        for side in sides
    )
    session.screen.move("")
    comparison = Comparison(reference, danlu, tolerance)
    comparison.add_ends()
    readers = {
        "reference": TensorReader([python, "-s"], theirs),
        "danlu": TensorReader([sys.executable], ours),
    }
    tensors = TensorFiles(folder / "arrays", readers)
    if not isolation.overlay:
        comparison.not_compared.append(get_message("verify.shared_paths"))
    comparison.not_compared += [get_message("verify.uri", uri=uri) for uri in uris(target.words)]
    version = choose("", target).version
    if comparison.reference.error and version.startswith("2."):
        text = get_message("verify.second_generation", version=version)
        comparison.not_compared.append(text)
    if not comparison.reference.error:
        comparison.add_printed()
        comparison.add_variables(tensors)
        comparison.add_files(tensors)
    found = comparison.wire()
    if session.json:
        session.screen.json(found)
    else:
        session.screen.data("\n".join(lines(found, session.screen.paint)))
    return int(found["result"] != AGREE)


def _ticker(session: Session, side: str) -> Callable[[float], None]:
    name = get_message("verify.reference") if side == "reference" else "Danlu"

    def tick(seconds: float) -> None:
        if session.screen.moves:
            session.screen.move(get_message("verify.running", side=name, seconds=int(seconds)))

    return tick


def reference_environment(own: Mapping[str, str], python: str) -> dict[str, str]:
    """Return the environment ``own`` without the variables and folders of Danlu."""
    kept = {k: v for k, v in fixed_environment(own).items() if not k.startswith(_OURS)}
    source = str(FOREGROUND.parents[1])
    for name in ("PYTHONPATH", "PATH"):
        folders = [each for each in kept.pop(name, "").split(":") if each]
        theirs = [e for e in folders if not e.startswith((sys.prefix, source))]
        if name == "PATH":
            theirs.insert(0, os.path.dirname(python))
        if theirs:
            kept[name] = ":".join(theirs)
    return {**kept, "PYTHONNOUSERSITE": "1"}


def fixed_environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return ``own`` with what both runs have in common."""
    fixed = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**own, **fixed, "CUDA_VISIBLE_DEVICES": _DEVICES}
