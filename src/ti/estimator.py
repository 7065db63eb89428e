"""Estimators: what to train, and with what; ``fit`` makes a job of it, ``attach`` finds one again.

``Estimator`` is the one for images: see ti/images.py for what stands in for them here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from danlu.errors import Refused, Unsupported
from ti import images
from ti.arguments import DEFAULTS, UNUSED, settle
from ti.exceptions import InvalidArguments
from ti.session import Session

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ti.arguments import Arguments, Further
    from ti.training_job import TrainingJob


class Hyperparameters(dict[str, Any]):
    """A dict that may be called too: later SDKs have a method of this name."""

    def __call__(self) -> dict[str, Any]:
        return dict(self)


class EstimatorBase:
    """What all estimators do. Arguments are attributes, and may be changed before ``fit``."""

    framework_name: ClassVar[str] = ""

    def __init__(self, given: Mapping[str, Any], own: Mapping[str, Any]) -> None:
        """``own`` are the arguments of one class alone, which has looked at them itself."""
        values = settle(given, own)
        self.entry_point: str | None = values["entry_point"]
        self.source_dir = values["source_dir"]
        self.hyperparameters = Hyperparameters(values["hyperparameters"] or {})
        self.envs: dict[str, str] = dict(values["envs"] or {})
        self.container_log_level: int = values["container_log_level"]
        self.image_name: str | None = values["image_name"]
        self.role: str | None = values["role"]
        self.train_instance_count: int = values["train_instance_count"]
        self.train_instance_type: str | None = values["train_instance_type"]
        self.train_max_run: float = values["train_max_run"]
        self.output_path = values["output_path"]
        self.base_job_name: str | None = values["base_job_name"]
        self.distributions: Mapping[str, Any] = own.get("distributions") or {}
        self.ti_session: Session = values["ti_session"] or Session()
        self.latest_training_job: TrainingJob | None = None
        self.unused = [name for name in UNUSED if values[name] != DEFAULTS[name]]
        self.runtime()  # an image that is not known is told at once

    def runtime(self) -> images.Runtime:
        """Return what stands in for the image.

        Raises:
            InvalidArguments: that is not known.
        """
        found = images.runtime_of(self.image_name) if self.image_name else None
        if found is None:
            raise InvalidArguments([("image_name", images.refusal(self.image_name or ""))])
        return found

    def set_hyperparameters(self, **hyperparameters: Any) -> None:
        """Set some, and keep the others."""
        self.hyperparameters.update(hyperparameters)

    def fit(
        self,
        inputs: Any = None,
        wait: bool = True,
        logs: bool | None = True,
        *,
        run_tensorboard_locally: bool = False,
        job_name: str | None = None,
    ) -> None:
        """Start a training job on ``inputs``: one URI or path, or one for each channel.

        With ``wait`` its output is printed (``logs``) until it has ended.

        Raises:
            InvalidArguments: every fault of the job; nothing was started.
            TrainingFailed: it ended badly; the script's own traceback is in it.
        """
        from ti.submitting import start
        from ti.tensorflow import board

        if run_tensorboard_locally:
            board.check(wait)
        self.latest_training_job = start(self, inputs, job_name)
        if wait and run_tensorboard_locally:
            several = self.train_instance_count > 1
            job = self.latest_training_job
            with board.shown(self.ti_session.client, job.name, several=several):
                job.wait(logs=bool(logs))
        elif wait:
            self.latest_training_job.wait(logs=bool(logs))

    @classmethod
    def attach(
        cls,
        training_job_name: str,
        ti_session: Session | None = None,
        *,
        wait: bool = True,
        logs: bool = True,
    ) -> "Self":
        """Return the estimator of a job that any process has started.

        With ``wait`` the job's output is printed from its beginning on until it has ended.

        Raises:
            NotFound: there is no such job.
            InvalidArguments: it is one of another framework.
            TrainingFailed: it ended badly; with ``wait=False`` it may have.
        """
        from ti.attaching import found

        return found(cls, training_job_name, ti_session or Session(), wait=wait, logs=logs)

    @classmethod
    def of_job(cls, given: "Arguments", runtime: images.Runtime, own: Mapping[str, Any]) -> "Self":
        """Return an estimator with the arguments of a job; ``own``: py_version, distributions."""
        raise NotImplementedError

    @property
    def model_data(self) -> str:
        """The URI of the model of the last job: there when it has ended and has left one."""
        return self._job.model_data

    def logs(self, wait: bool = True) -> None:
        """Print what the last job has written, and with ``wait`` what it is still to write."""
        self._job.logs(wait)

    def stop(self, wait: bool = True) -> None:
        """End the last job; one that has ended is left alone."""
        self._job.stop(wait)

    def deploy(self, *_: object, **__: object) -> NoReturn:
        raise Unsupported(
            "deploy() is not there yet: models are not served.",
            hint="The model itself is at model_data, packed as model.tar.gz.",
        )

    @property
    def _job(self) -> "TrainingJob":
        if self.latest_training_job is None:
            raise Refused("There is no training job yet.", hint="Call fit() or attach() first.")
        return self.latest_training_job


class Estimator(EstimatorBase):
    """A script for an image of one's own; its name says the runtime that stands in for it."""

    def __init__(
        self,
        image_name: str | None = None,
        role: str | None = None,
        train_instance_count: int = 1,
        train_instance_type: str | None = None,
        **arguments: "Unpack[Further]",
    ) -> None:
        given: dict[str, Any] = {
            "image_name": image_name,
            "role": role,
            "train_instance_count": train_instance_count,
            "train_instance_type": train_instance_type,
        }
        # Only what was given: the rest may have been given by its later name.
        first = {name: value for name, value in given.items() if value != DEFAULTS[name]}
        super().__init__({**first, **arguments}, {})

    @classmethod
    def of_job(cls, given: "Arguments", runtime: images.Runtime, own: Mapping[str, Any]) -> "Self":
        image = f"{runtime.framework}:{runtime.version}".rstrip(":")
        given["image_name"] = image
        estimator = cls(**given)
        estimator.distributions = own["distributions"]
        return estimator
