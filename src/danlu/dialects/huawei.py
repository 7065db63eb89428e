"""Channels, environment variables and cluster flags that the dialects of ModelArts and DLS share.

A channel is passed to a script as a local directory or as a URL. ModelArts turned the URLs of its
predecessor DLS into directories and kept the names. ``spec.options["urls"]`` has the
comma-separated names of channels passed as URLs. The user sets it, or it is found in the code when
the job is submitted. ``spec.options["files"]`` has the inputs that are one object and not a
folder. They are found in the store when the job is submitted.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from danlu.dialects.form import Form, resources_of
from danlu.job.plan import Fetch, Place, Push, Role
from danlu.job.spec import JobSpec
from danlu.messages import get_message
from danlu.storage.locate import parse

AUTO = "auto"  # the code decides


def read_urls(form: Form, channels: Collection[str]) -> str:
    """Return the channels to pass as URLs from the field ``urls``: 'auto', or names."""
    given = form.text("urls", AUTO)
    if given == AUTO:
        return AUTO
    if given in ("all", "none"):
        return ",".join(channels) if given == "all" else ""
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if name not in channels:
            form.fault("urls", get_message("fault.no_url_channel", name=name))
    return ",".join(names)


@dataclass(frozen=True)
class Channels:
    """The channels of one task.

    ``inputs`` and ``outputs`` are the service's folders for them. ``slash``: the service ended the
    path or URL of a folder with a slash. Without it, a folder keeps the slash it was given with.
    """

    spec: JobSpec
    place: Place
    inputs: str
    outputs: str
    slash: bool = False

    def shown(self) -> Mapping[str, str]:
        """Return the paths or URLs that are passed to the script, in the order of the job."""
        folders = {**self._inputs(), **self._outputs(), **self._urls()}
        return {name: self._ended(name, path) for name, path in folders.items()} | self._files()

    def _ended(self, name: str, path: str) -> str:
        given = {**self.spec.inputs, **self.spec.outputs}[name]
        # A script that appends a name to a folder given with a slash must write into the folder.
        return f"{path.removesuffix('/')}/" if self.slash or given.endswith("/") else path

    def fetch(self) -> tuple[Fetch, ...]:
        urls = self._urls()
        return tuple(
            Fetch(self.spec.inputs[name], path, name)
            for name, path in self._inputs().items()
            if name not in urls
        )

    def push(self, restored: Collection[str] = ()) -> tuple[Push, ...]:
        """Return the outputs to sync; those in ``restored`` start with the existing contents."""
        # Parameter servers write nothing; do not upload their empty directories.
        if not self.place.decides:
            return ()
        urls = self._urls()
        return tuple(
            Push(path, self.spec.outputs[name], name, restore=name in restored)
            for name, path in self._outputs().items()
            if name not in urls
        )

    def folders(self) -> tuple[str, ...]:
        urls = self._urls()
        return tuple(path for name, path in self._outputs().items() if name not in urls)

    def _inputs(self) -> dict[str, str]:
        return {name: self.place.path(f"{self.inputs}/{name}_0") for name in self.spec.inputs}

    def _outputs(self) -> dict[str, str]:
        return {name: self.place.path(f"{self.outputs}/{name}_0") for name in self.spec.outputs}

    def _files(self) -> dict[str, str]:
        """Return URL or path of each input that is one object; the path is in its folder."""
        names = self.spec.options.get("files", "").split(",")
        single = {name: uri for name, uri in self.spec.inputs.items() if name in names}
        paths = {
            name: f"{self._inputs()[name]}/{PurePosixPath(parse(uri).key).name}"
            for name, uri in single.items()
        }
        urls = {name: uri for name, uri in self._urls().items() if name in single}
        return {**paths, **urls}

    def _urls(self) -> dict[str, str]:
        chosen = self.spec.options.get("urls", "").split(",")
        places = {**self.spec.inputs, **self.spec.outputs}
        return {name: uri for name, uri in places.items() if name in chosen}


def first_generation_environment(spec: JobSpec, place: Place) -> Mapping[str, str]:
    """Return the environment variables of the first service generation for one task.

    URLs are those of the request, with their scheme.
    """
    workers = place.peers.get("worker", (place.host,))
    hosts = {f"BATCH_CUSTOM{number}_HOSTS": address for number, address in enumerate(workers)}
    if len(workers) == 1:  # with one node, the variable contains the name of the job
        hosts = {f"BATCH_{spec.name}.0_HOSTS": f"{place.host}:{place.port}"}
    return {
        "DLS_TASK_INDEX": str(place.index),
        "DLS_TASK_NUMBER": str(len(workers)),
        "DLS_APP_URL": spec.options["code_origin"],
        "DLS_DATA_URL": spec.inputs.get("data_url", ""),
        "DLS_TRAIN_URL": spec.outputs.get("train_url", ""),
        "BATCH_JOB_ID": place.job_id,
        "BATCH_TASK_CURRENT_HOST_IP": place.host,
        "BATCH_TASK_CURRENT_INSTANCE": place.task,
        **hosts,
        "S3_USE_HTTPS": "1",
        "S3_VERIFY_SSL": "0",
    }


_PS_WORKER_FLAGS = ("job_name", "task_index", "ps_hosts", "worker_hosts")


def ps_worker_roles(spec: JobSpec) -> Sequence[Role]:
    """Return one worker for one node; with more nodes, a worker and a parameter server each."""
    nodes = spec.resources.nodes
    worker = Role("worker", nodes, **resources_of(spec))
    if nodes == 1:
        return [worker]
    # A parameter server shares the resources of its node and never exits by itself.
    return [Role("ps", nodes, cpus=0, decides=False), worker]


def check_ps_worker(form: Form, spec: JobSpec) -> None:
    """Add a fault for each cluster flag among the parameters of a job with several nodes.

    All tasks would get the same value.
    """
    if spec.resources.nodes == 1:
        return
    for name, _ in spec.params:
        if name in _PS_WORKER_FLAGS:
            form.fault(
                f"parameters.{name}",
                get_message("fault.from_service"),
            )


def ps_worker_flags(place: Place) -> Mapping[str, str]:
    """Return the four cluster flags of a task; none if the job has no parameter server."""
    if "ps" not in place.peers:
        return {}
    return {
        "job_name": place.role,
        "task_index": str(place.index),
        "ps_hosts": ",".join(place.peers["ps"]),
        "worker_hosts": ",".join(place.peers["worker"]),
    }
