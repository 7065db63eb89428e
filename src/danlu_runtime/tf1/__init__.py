"""TensorFlow 1 for scripts: ``import tensorflow`` returns a facade over TensorFlow 2.21.

``facade``, ``modules``: the module a script gets; public and private paths below it.
``removed_api``, ``before_1_0``: names that TensorFlow 2 moved; names from before 1.0.
``behaviour``: what 1.15 computed or reported in another way.
``session``, ``cluster``: sessions without a GPU, checkpoint on SIGTERM; workers of a cluster.
``flags``: ``tf.flags``. ``estimator``: ``tf.estimator``. ``tf_slim_import``: a faster import.
``graphs``: operations, names and seeds of 1.15.
``contrib``, ``examples``: ``tf.contrib`` and ``tensorflow.examples``, with the paths of 1.15.
"""

from types import ModuleType


def enter(real: ModuleType) -> ModuleType:
    """Patch TensorFlow 2 and return the module that the script gets as ``tensorflow``.

    Called once, after TensorFlow is loaded and before the script sees it.
    """
    import numpy

    from danlu_runtime import checkpoint_validation, steps
    from danlu_runtime.start.activate import version_seen
    from danlu_runtime.tf1 import before_1_0, behaviour, cluster, flags, removed_api, session
    from danlu_runtime.tf1.facade import Facade
    from danlu_runtime.tf1.graphs import build_as_before

    numpy.set_printoptions(legacy="1.25")  # numpy 2 prints np.float32(0.5) inside lists
    real.compat.v1.disable_v2_behavior()
    removed_api.restore()
    behaviour.restore()
    removed_api.restore_rnn()
    before_1_0.accept()
    flags.tolerate()
    session.print_once()
    session.run_without_gpu()
    cluster.pass_proxies_by()
    cluster.look_often()
    cluster.end_synchronous_runs()
    session.checkpoint_on_sigterm()
    cluster.keep_here()
    cluster.contribute_once()
    removed_api.accept_old_calls()
    build_as_before()
    checkpoint_validation.install(real)
    steps.install()
    return Facade(real, version_seen())
