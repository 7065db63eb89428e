"""``mox.run``: the one call of a MoXing program."""

from collections.abc import Callable
from typing import Any

from moxing.tensorflow.executor import evaluating, training_run
from moxing.tensorflow.executor import request as requests
from moxing.tensorflow.executor.cluster.cluster import Cluster
from moxing.tensorflow.executor.logs import show_steps
from moxing.tensorflow.executor.precision import collect
from moxing.tensorflow.executor.request import USE_DEFAULT


def run(
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
    model_fn: Callable[..., Any] | None = None,
    optimizer_fn: Any = None,
    run_mode: str = "invalid",
    inter_mode: str | None = None,
    batch_size: int | None = None,
    auto_batch: Any = USE_DEFAULT,
    log_dir: str | None = None,
    max_number_of_steps: int = 0,
    checkpoint_path: str | None = None,
    log_every_n_steps: int | None = 10,
    output_every_n_steps: int | None = 0,
    save_summary_steps: int | None = 100,
    save_model_secs: Any = USE_DEFAULT,
    export_model: Any = False,
    fetch_strategy_fn: Any = None,
    save_model_steps: Any = USE_DEFAULT,
) -> dict[str, float] | None:
    """Train, evaluate or predict with a model; return the means of an evaluation.

    ``auto_batch`` is True unless there is no ``batch_size``: then ``input_fn`` returns batches.
    ``save_model_secs`` is 600 unless it or ``save_model_steps`` is given, and wins over the latter.
    """
    request = requests.read(dict(locals()))
    show_steps()
    collect()
    cluster = Cluster.of_flags()
    if cluster is not None and cluster.is_server:
        if request.trains:
            cluster.serve()
        return None
    if request.trains:
        training_run.train(request, cluster)
        return None
    # Every worker reads the checkpoint itself and evaluates its own data.
    return evaluating.evaluate(request, writes=cluster is None or cluster.is_chief)
