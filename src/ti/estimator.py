"""Estimators, which describe a training: ``fit`` starts a job, ``attach`` finds an existing one.

``Estimator`` is the class for images; ti/images.py maps images to runtimes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from danlu.errors import Refused, Unsupported
from ti import images
from ti.arguments import DEFAULTS, UNUSED, settle
from ti.exceptions import InvalidArguments
from ti.session import Session

if TYPE_CHECKING:
    from typing import Self, Unpack

    from ti.arguments import Arguments, Further
    from ti.training_job import TrainingJob


class Hyperparameters(dict[str, Any]):
    """A dict that can also be called, because later SDKs have a method ``hyperparameters()``."""

    def __call__(self) -> dict[str, Any]:
        return dict(self)


class EstimatorBase:
    """Base class of estimators. Arguments are attributes and may be changed before ``fit``."""

    framework_name: ClassVar[str] = ""

    def __init__(self, given: Mapping[str, Any], own: Mapping[str, Any]) -> None:
        """Check ``given``; ``own`` are arguments of a subclass, which has checked them itself."""
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
        self.runtime()  # raises InvalidArguments now if the image is unknown

    def runtime(self) -> images.Runtime:
        """Return the runtime that replaces the image.

        Raises:
            InvalidArguments: the image is unknown.
        """
        found = images.runtime_of(self.image_name) if self.image_name else None
        if found is None:
            raise InvalidArguments([("image_name", images.refusal(self.image_name or ""))])
        return found

    def set_hyperparameters(self, **hyperparameters: Any) -> None:
        """Set the given hyperparameters and keep the others."""
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
        """Start a training job on ``inputs``, one URI or path, or a dict with one per channel.

        With ``wait``, wait until the job has ended and, with ``logs``, print its output.

        Raises:
            InvalidArguments: the job has faults (lists all of them); nothing was started.
            TrainingFailed: the job failed; the exception has the traceback of the script.
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
        """Return the estimator of an existing job, started by any process.

        With ``wait``, wait until the job has ended and, with ``logs``, print all its output.

        Raises:
            NotFound: there is no such job.
            InvalidArguments: the job uses another framework.
            TrainingFailed: the job failed. It is not raised with ``wait=False``.
        """
        from ti.submitting import attach

        return attach(cls, training_job_name, ti_session or Session(), wait=wait, logs=logs)

    @classmethod
    def of_job(cls, given: "Arguments", runtime: images.Runtime, own: Mapping[str, Any]) -> "Self":
        """Return an estimator with the arguments of a job.

        ``own`` contains py_version and distributions.
        """
        raise NotImplementedError

    @property
    def model_data(self) -> str:
        """The URI of the last job's model. It exists after the job has ended and written one."""
        return self._job.model_data

    def logs(self, wait: bool = True) -> None:
        """Print the output of the last job; with ``wait`` follow it until the job has ended."""
        self._job.logs(wait)

    def stop(self, wait: bool = True) -> None:
        """Stop the last job; with ``wait``, wait until it has ended. An ended job is unchanged."""
        self._job.stop(wait)

    def deploy(self, *_: object, **__: object) -> NoReturn:
        raise Unsupported.from_key("ti.no_deploy")

    @property
    def _job(self) -> "TrainingJob":
        if self.latest_training_job is None:
            raise Refused.from_key("ti.no_job")
        return self.latest_training_job


class Estimator(EstimatorBase):
    """An estimator for a script with a custom image. The image name determines the runtime."""

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
        # Omit defaults, because the caller may have used the new name of an argument.
        first = {name: value for name, value in given.items() if value != DEFAULTS[name]}
        super().__init__({**first, **arguments}, {})

    @classmethod
    def of_job(cls, given: "Arguments", runtime: images.Runtime, own: Mapping[str, Any]) -> "Self":
        image = f"{runtime.framework}:{runtime.version}".rstrip(":")
        given["image_name"] = image
        estimator = cls(**given)
        estimator.distributions = own["distributions"]
        return estimator
