"""TensorFlow 1 for the script: what ``import tensorflow`` gives is a facade over 2.21."""

from types import ModuleType


def enter(real: ModuleType) -> ModuleType:
    """Turn TensorFlow 2 into what the script expects; return what it gets as ``tensorflow``.

    Called once, when TensorFlow has been loaded and before the script sees it.
    """
    import numpy

    from danlu_runtime import steps, whole_checkpoints
    from danlu_runtime.activate import version_seen
    from danlu_runtime.tf1 import (
        before_one,
        cluster_files,
        flags,
        grace,
        keras,
        logs,
        restored,
        restored_rnn,
        session,
        sync_replicas,
        workers,
    )
    from danlu_runtime.tf1.facade import Facade

    numpy.set_printoptions(legacy="1.25")  # numpy 2 prints np.float32(0.5) inside lists
    real.compat.v1.disable_v2_behavior()
    restored.restore()
    restored_rnn.restore()
    before_one.accept()
    flags.tolerate()
    logs.print_once()
    session.place_softly()
    workers.pass_proxies_by()
    workers.look_often()
    workers.end_synchronous_runs()
    grace.save_in_grace()
    cluster_files.keep_here()
    sync_replicas.contribute_once()
    keras.accept_old_calls()
    whole_checkpoints.mend(real)
    steps.install()
    return Facade(real, version_seen())
