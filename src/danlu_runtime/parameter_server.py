"""The parameter server of a TI or ModelMaker job: the platform's, never the user's script.

TF_CONFIG says where everybody is. The server computes nothing, serves until it is ended, and
needs TensorFlow as the user's script does.
"""

import json
import os
from importlib import import_module
from typing import Any

from danlu.errors import Unsupported


def main() -> None:
    """Serve until ended.

    Raises:
        Unsupported: there is no TensorFlow here.
    """
    try:
        tensorflow: Any = import_module("tensorflow")
    except ModuleNotFoundError:
        raise Unsupported(
            "Training on several machines: the parameter server needs TensorFlow, which is not "
            "installed here."
        ) from None
    config = json.loads(os.environ["TF_CONFIG"])
    compat = tensorflow.compat.v1
    server = tensorflow.distribute.Server(
        compat.train.ClusterSpec(config["cluster"]),
        job_name=config["task"]["type"],
        task_index=config["task"]["index"],
        config=compat.ConfigProto(device_count={"GPU": 0}),
    )
    server.join()


if __name__ == "__main__":
    main()
