"""The fields of a job: their options of ``danlu run``, and the services that accept them.

The command line makes its options from this table and uses it to reject a field of another
service. Hints use it to name options.
"""

from collections.abc import Mapping
from typing import NamedTuple

_HUAWEI = ("modelarts", "dls")
_DLS, _KDL, _TI, _MODELARTS, _MODELMAKER = (
    (name,) for name in ("dls", "kdl", "ti", "modelarts", "modelmaker")
)


class JobField(NamedTuple):
    """A field of a job.

    ``owners``: the services that accept it; empty: every service. ``kind``: text, number, whole,
    switch, or names and pairs, whose options may be repeated. ``option``: by default the name of
    the field; "" if only job files and requests have it.
    """

    name: str
    owners: tuple[str, ...] = ()
    kind: str = "text"
    metavar: str = ""
    option: str | None = None

    @property
    def flag(self) -> str:
        """The option of ``danlu run`` and its short form; "" if there is none."""
        return "--" + self.name.replace("_", "-") if self.option is None else self.option


# In the order of ``danlu run --help``.
FIELDS = (
    JobField("algorithm", metavar="NAME[:VERSION]"),
    JobField("preset", _DLS, metavar="NAME"),
    JobField("dialect"),
    JobField("boot_file", (*_HUAWEI, "ti", "modelmaker")),
    JobField("module", _KDL),
    JobField("entry_point", _TI),
    JobField("data_url", _HUAWEI),
    JobField("train_url", _HUAWEI),
    JobField("checkpoint_url", _DLS),
    JobField("data", _MODELMAKER),
    JobField("channels", _TI, "pairs", "NAME=URI", "--channel"),
    JobField("output_path", _TI),
    JobField("inputs", ("modelarts", "ti"), "pairs", "NAME=URI", "--input"),
    JobField("outputs", ("modelarts", "modelmaker"), "pairs", "NAME=URI", "--output"),
    JobField("urls", _HUAWEI),
    JobField("predownload", _MODELARTS, "names", "NAME"),
    JobField("prepare_command", _KDL, option="--prepare"),
    JobField("finish_command", _KDL, option="--finish"),
    JobField("worker_count", _KDL, "whole"),
    JobField("ps_count", _KDL, "whole"),
    JobField("parameters", (), "pairs", "K=V", "-p --parameter"),
    JobField("env", (), "pairs", "K=V", "-e --env"),
    JobField("secrets", (), "names", "NAME", "--secret"),
    JobField("framework_version", metavar="VERSION"),
    JobField("max_steps", (), "whole", "N"),
    JobField("rehearse", (), "switch"),
    JobField("nodes", (), "whole"),
    JobField("gpus", (), "whole"),
    JobField("cpus", (), "number"),
    JobField("memory", metavar="SIZE"),
    JobField("flavor"),
    JobField("name"),
    JobField("retries", (), "whole"),
    JobField("priority", (), "whole"),
    JobField("timeout", (), "number", "SECONDS"),
    JobField("job_args", _KDL, "rest", option="-- ARGS"),
    *(JobField(name, _MODELARTS, option="") for name in ("from_environment", "working_dir")),
    *(
        JobField(name, _KDL, option="")
        for name in ("module_name", "trainer_uri", "raw_job_name", "flavor_id")
    ),
    *(JobField(name, _TI, option="") for name in ("source_dir", "distributions")),
    JobField("model_file", _MODELMAKER, option=""),
)
OWNERS: Mapping[str, tuple[str, ...]] = {each.name: each.owners for each in FIELDS if each.owners}
OPTIONS: Mapping[str, str] = {each.name: each.flag for each in FIELDS if each.flag and each.owners}

# The field for an input and for an output of a job, and how its value is written.
_INPUTS = {
    "modelarts": ("inputs", "NAME=URI"),
    "dls": ("data_url", "URI"),
    "ti": ("channels", "NAME=URI"),
    "modelmaker": ("data", "URI"),
}
_OUTPUTS = {
    "modelarts": ("outputs", "NAME=URI"),
    "dls": ("train_url", "URI"),
    "ti": ("output_path", "URI"),
    "modelmaker": ("outputs", "model=URI"),
}


def input_option(dialect: str) -> str:
    """Return the option that adds an input to a job; "" if its service has no inputs."""
    return _written(dialect, _INPUTS)


def output_option(dialect: str) -> str:
    """Return the option that adds an output to a job; "" if its service has no outputs."""
    return _written(dialect, _OUTPUTS)


def option_of(dialect: str, field: str) -> str:
    """Return the option that sets a field; "" if there is none or the service has no such field."""
    return OPTIONS.get(field, "") if dialect in OWNERS.get(field, ()) else ""


def _written(dialect: str, fields: Mapping[str, tuple[str, str]]) -> str:
    field, value = fields.get(dialect, ("", ""))
    option = option_of(dialect, field)
    return f"{option} {value}" if option else ""
