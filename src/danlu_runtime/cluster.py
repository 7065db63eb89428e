"""The parameter server of a TI or ModelMaker job, which is part of the platform.

It never runs the user's script. TF_CONFIG has the addresses of all processes. The server computes
nothing, runs until it is stopped, and needs TensorFlow as the user's script does.
"""

import json
import os
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from danlu.errors import Unsupported


def main() -> None:
    """Serve until stopped.

    Raises:
        Unsupported: TensorFlow is not installed.
    """
    try:
        tensorflow: Any = import_module("tensorflow")
    except ModuleNotFoundError:
        raise Unsupported.from_key("runtime.no_parameter_server") from None
    config = json.loads(os.environ["TF_CONFIG"])
    compat = tensorflow.compat.v1
    server = tensorflow.distribute.Server(
        compat.train.ClusterSpec(config["cluster"]),
        job_name=config["task"]["type"],
        task_index=config["task"]["index"],
        config=compat.ConfigProto(device_count={"GPU": 0}),
    )
    server.join()


_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_BYPASS = "no_grpc_proxy"  # gRPC reads no_proxy only if this is not set
_HERE = ("localhost", "127.0.0.1")


def bypass(hosts: Iterable[str]) -> None:
    """Exclude hosts and this machine from the gRPC proxy; existing exclusions are kept.

    With ``http_proxy`` set, ``CreateSession still waiting`` is printed forever (MoXing manual,
    pitfall 2-3-1). The proxy variables stay set, because scripts read them and download through the
    proxy.
    """
    if not any(os.environ.get(name) for name in _PROXIES):
        return
    given = os.environ.get(_BYPASS) or os.environ.get("no_proxy") or ""
    kept = [each.strip() for each in given.split(",") if each.strip()]
    os.environ[_BYPASS] = ",".join(dict.fromkeys([*kept, *_HERE, *hosts]))


if __name__ == "__main__":
    main()
