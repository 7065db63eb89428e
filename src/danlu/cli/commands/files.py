"""The commands ``danlu get`` and ``danlu restore``."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from danlu.cli.code import is_uri
from danlu.cli.options import CliCommand, job_argument
from danlu.cli.session import Session
from danlu.cli.text import table
from danlu.errors import NotFound, Refused, StorageError
from danlu.job.describe import is_final
from danlu.messages import get_message
from danlu.messages.text import files_text, moment, size

if TYPE_CHECKING:
    from danlu.client.api import View


@click.command("get", cls=CliCommand)
@job_argument(required=True)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.pass_obj
def get_command(session: Session, job: str, folder: Path | None) -> int:
    """Download the outputs of JOB, and the kept files of its working directory, to FOLDER.

    FOLDER is made; left out, it has the name of the job.
    """
    view = session.client.job(job)
    target = folder or Path(view["name"])
    _check_free(target, view["name"])
    if not is_final(view):
        state = get_message(f"state.{view['state']}")
        session.screen.print_message("get.living", name=view["name"], state=state)
    found = session.client.files(view["id"])
    if not found["files"] and not found["problems"]:
        raise NotFound("file", view["name"], hint=get_message("get.nothing", name=view["name"]))
    got = Got(problems=list(found["problems"]))
    if found["files"]:
        _fetch(session, view["id"], found["files"], target, got)
    if session.json:
        session.screen.json({"job": view["id"], "folder": str(target), **asdict(got)})
    else:
        values = {"files": files_text(got.files), "size": size(got.size), "folder": target}
        session.screen.print_message("get.done", name=view["name"], **values)
        for problem in got.problems:
            session.screen.print_message("get.problem", problem=problem)
    return int(bool(got.problems))


@dataclass
class Got:
    files: int = 0
    size: int = 0
    problems: list[str] = field(default_factory=list)


def _check_free(target: Path, name: str) -> None:
    """Raise Refused if ``target`` exists and is not an empty folder. Files are never replaced."""
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists() or target.is_symlink():
        raise Refused(
            get_message("get.not_empty", folder=target),
            hint=get_message("get.not_empty.hint", name=name),
        )


def _fetch(session: Session, job: str, files: "list[View]", target: Path, got: Got) -> None:
    """Download all files to a temporary folder next to ``target``, then rename it to ``target``."""
    from danlu.cli.text import Bar

    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.danlu-{os.getpid()}")
    total = sum(file["size"] for file in files)
    try:
        unfinished.mkdir()
        with Bar(session.screen, str(target)) as bar:
            for file in files:
                path = unfinished / _safe(file["path"], target)
                try:
                    _bring(session, job, file, path)
                except NotFound as error:  # removed after the listing
                    got.problems.append(error.message)
                    continue
                got.files += 1
                got.size += file["size"]
                if not session.json:
                    bar(got.size, total)
        os.rename(unfinished, target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _bring(session: Session, job: str, file: "View", path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    at = 0
    with open(path, "xb") as writer:
        try:
            while at < file["size"]:
                data = session.client.file_content(job, file["source"], file["key"], at)
                at += len(data)
                if not data or at > file["size"]:
                    raise StorageError(get_message("get.changed", path=file["path"]))
                writer.write(data)
        except NotFound:
            path.unlink()
            raise


def _safe(path: str, target: Path) -> Path:
    """Return ``path`` as a relative path.

    Raises:
        Refused: the path leads outside ``target``. A remote server is not trusted.
    """
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise Refused(get_message("get.unsafe", path=repr(path), folder=target))
    return Path(*parts)


@click.command("restore", cls=CliCommand)
@click.argument("target", metavar="JOB|PLACE")
@click.argument("kept", required=False, metavar="[ID]")
@click.option("-n", "--dry-run", is_flag=True, help="option.dry_run_done")
@click.pass_obj
def restore_command(session: Session, target: str, kept: str | None, dry_run: bool) -> None:
    """Bring back what JOB replaced or removed in its outputs, and had not written itself.

    With a PLACE, a URI or a path such as ./out: list what is kept at this output, or bring back the
    set ID.
    """
    if not _is_place(target):
        if kept is not None:
            raise Refused(get_message("restore.job_alone", kept=repr(kept)))
        view = session.client.restore(target, dry_run=dry_run)
    elif kept is None:
        _list(session, target)
        return
    else:
        view = _at(session, target, kept, dry_run)
    if session.json:
        session.screen.json(view)
        return
    for output in view["outputs"]:
        _show(session, output, dry_run)
    if not any(output["restored"] or output["same"] for output in view["outputs"]):
        session.screen.print_message("restore.nothing", name=view["name"])


def _is_place(text: str) -> bool:
    """Return True for a URI or a path. The name of a job has no slash, dot or tilde."""
    return is_uri(text) or "/" in text or text.startswith((".", "~"))


def _show(session: Session, output: Mapping[str, Any], dry_run: bool) -> None:
    restored, same = output["restored"], output["same"]
    if not restored and not same:
        return
    for path in restored:
        session.screen.data(path)
    session.screen.print_message(
        "restore.would" if dry_run else "restore.done",
        uri=output["uri"],
        count=len(restored),
        size=size(output["size"]),
        same=len(same),
    )
    if output["kept_as"]:
        session.screen.print_message("restore.undo", uri=output["uri"], kept=output["kept_as"])


def _list(session: Session, uri: str) -> None:
    from danlu.cli.objects import Objects
    from danlu.storage.previous import list_previous

    found = list_previous(Objects(session.settings).at(uri))
    if session.json:
        session.screen.json({"uri": uri, "kept": [vars(each) for each in found]})
        return
    if not found:
        session.screen.print_message("restore.none_kept", uri=uri)
        return
    rows = [
        (
            each.id,
            get_message("restore.files", count=each.files),
            size(each.size),
            moment(each.newest),
        )
        for each in found
    ]
    for line in table(rows):
        session.screen.data(line)


def _at(session: Session, uri: str, kept: str, dry_run: bool) -> dict[str, Any]:
    from danlu.cli.objects import Objects
    from danlu.storage.previous import restore_previous

    done = restore_previous(Objects(session.settings).at(uri), kept, dry=dry_run)
    output = {
        "uri": uri,
        "restored": list(done.restored),
        "same": list(done.same),
        "size": sum(done.sizes.values()),
        "kept_as": done.kept_as,
    }
    return {"job": "", "name": kept, "dry_run": dry_run, "outputs": [output]}
