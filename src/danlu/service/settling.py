"""What a dialect leaves to a look at the code: which folder, which URLs, which TensorFlow."""

from dataclasses import replace

from danlu import dialects
from danlu.job.framework import UNDECIDED, is_first
from danlu.job.spec import JobSpec
from danlu.service import scan, versions
from danlu.service.sources import Source

_AUTO = "auto"


def settle(spec: JobSpec, source: Source) -> tuple[JobSpec, list[str]]:
    """Return the spec with nothing left open, and what was decided, a sentence each."""
    options, notes = dict(spec.options), list[str]()
    if options.get("top") == _AUTO:
        options["top"] = source.top
    if options.get("urls") == _AUTO:
        options["urls"], notes = _urls(spec, source)
    settled = replace(spec, options=options)
    if spec.tensorflow == UNDECIDED:
        version, told = _tensorflow(settled, source)
        settled = replace(settled, tensorflow=version)
        notes += told
    return settled, [*notes, *_steps(settled)]


def _urls(spec: JobSpec, source: Source) -> tuple[str, list[str]]:
    """Decide which channels the script wants as URLs; data of this machine is always a path."""
    places = {**spec.inputs, **spec.outputs}
    remote = {name: uri for name, uri in places.items() if not uri.startswith("file:")}
    found = scan.find(source.texts, remote)
    notes = []
    for name, reason in (found.reasons or {}).items():
        told = f"passed as the URL {remote[name]}" if name in found.urls else "a local directory"
        notes.append(f"{name}: {told}: {reason}. The field urls says otherwise.")
    return ",".join(found.urls), notes


def _tensorflow(spec: JobSpec, source: Source) -> tuple[str, list[str]]:
    """Decide by the service, where it had one kind only, else by the code."""
    top = spec.options.get("top", "")
    inside = f"{top}/" if top else ""
    texts = {name.removeprefix(inside): text for name, text in source.texts.items()}
    found = versions.find(texts, spec.entry)
    # Dialects that others have written may not say.
    fixed = str(getattr(dialects.get(spec.dialect), "TENSORFLOW", ""))
    if found.sign is None:
        return fixed, []  # nobody wants to hear of it
    reason = f"every job of {spec.dialect} has TensorFlow 1" if fixed else _reason(found)
    version = fixed or found.version
    return version, [
        f"tensorflow: {version}: {reason}. The field framework_version says otherwise."
    ]


def _reason(found: versions.Found) -> str:
    assert found.sign is not None
    place = f"{found.sign.file}:{found.sign.line}"
    return {
        "one": f"{place} uses {found.sign.shown}",
        "two": f"{place} uses {found.sign.shown}",
        "package": f"{place} imports {found.sign.shown}, which ran on TensorFlow 1 until 2020",
        "keras": f"{place} imports {found.sign.shown}, and nothing else tells which (Keras 2)",
        "import": f"{place} imports TensorFlow, and nothing asks for 2",
    }[found.why]


def _steps(spec: JobSpec) -> list[str]:
    if not spec.max_steps:
        return []
    if is_first(spec.tensorflow):
        return [f"max_steps: training ends after {_counted(spec.max_steps)}."]
    seen = f"TensorFlow {spec.tensorflow}" if spec.tensorflow else "no TensorFlow"
    return [
        f"max_steps: changes nothing here. It ends training loops of TensorFlow 1, and this script "
        f"has {seen}."
    ]


def _counted(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"
