"""Small programs of workers and servers, and places to start them at."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from processes import Site, until


class Training:
    """A small program of a worker or a server, as a user would write it by hand.

    ``rows``: how many batches each worker has. A worker returns the global steps it saw. The chief
    also ends when there is a file named ``enough`` in the folder; where it is ``slow``, it begins
    when there is one named ``go on``.
    """

    def __init__(
        self,
        folder: Path,
        optimizer: str = "sgd",
        batch: int = 4,
        steps: int = 12,
        rows: tuple[int, ...] = (),
        rare: bool = False,
        saved: bool = False,
        slow: bool = False,
    ) -> None:
        self.folder = folder
        self.optimizer = optimizer
        self.batch = batch
        self.steps = steps
        self.rows = rows
        self.rare = rare
        self.saved = folder / "checkpoints" if saved else None
        self.slow = slow

    def end(self) -> None:
        (self.folder / "enough").touch()

    def __call__(self) -> Any:
        import tensorflow.compat.v1 as tf

        from moxing.tensorflow.executor.cluster.cluster import Cluster

        cluster = Cluster.of_flags()
        assert cluster is not None
        if cluster.is_server:
            cluster.serve()
            return None
        with tf.Graph().as_default(), cluster.building():
            return self._train(cluster)

    def _train(self, cluster: Any) -> Any:
        import tensorflow.compat.v1 as tf

        step = tf.train.get_or_create_global_step()
        data = tf.data.make_initializable_iterator(self._data(cluster, tf))
        loss = self._model(data.get_next(), tf)
        optimizer, hooks = cluster.synchronized(_OPTIMIZERS[self.optimizer](tf))
        train = optimizer.apply_gradients(optimizer.compute_gradients(loss), step)
        with tf.control_dependencies([train]):
            done = step.read_value()
        scaffold = tf.train.Scaffold(
            local_init_op=tf.group(tf.local_variables_initializer(), data.initializer),
            init_fn=self._restore,
            saver=tf.train.Saver(),
        )
        self._saver = scaffold.saver
        saving = []
        if self.saved:
            saving = [
                tf.train.CheckpointSaverHook(str(self.saved), save_steps=5, saver=self._saver)
            ]
        seen: list[int] = []
        folder = str(self.saved) if self.saved else None
        config = tf.ConfigProto(allow_soft_placement=True)
        with cluster.session(scaffold, config, (), saving, folder, first=hooks) as session:
            print("ready", flush=True)
            while not self._is_over(seen, cluster, session):
                seen.append(int(session.run(done)))
                print(f"step {seen[-1]}.", flush=True)
        cluster.leave()
        return seen

    def _is_over(self, seen: list[int], cluster: Any, session: Any) -> bool:
        reported = cluster.is_chief and (self.folder / "enough").exists()
        return reported or session.should_stop() or (seen and seen[-1] >= self.steps)

    def _data(self, cluster: Any, tf: Any) -> Any:
        """A whole batch is cut into the parts of the workers."""
        random = np.random.RandomState(7)
        workers = len(cluster.workers)
        x = random.rand(40, self.batch * workers, 4).astype(np.float32)
        y = (x @ np.array([1.0, -2.0, 0.5, 3.0], np.float32))[..., None]
        rows = random.randint(0, 9, [40, self.batch * workers])
        part = slice(cluster.index * self.batch, (cluster.index + 1) * self.batch)
        data = tf.data.Dataset.from_tensor_slices((x[:, part], y[:, part], rows[:, part]))
        return data.take(self.rows[cluster.index]) if self.rows else data.repeat()

    def _model(self, batch: Any, tf: Any) -> Any:
        x, y, rows = batch
        zeros = tf.zeros_initializer()
        weights = tf.get_variable("weights", [4, 1], initializer=zeros, use_resource=True)
        guess = x @ weights
        if self.rare:
            table = tf.get_variable("table", [9, 1], initializer=zeros, use_resource=True)
            guess += tf.gather(table, rows)
        return tf.reduce_mean(tf.square(guess - y))

    def _restore(self, scaffold: Any, session: Any) -> None:
        import tensorflow.compat.v1 as tf

        if self.slow:
            print("restoring", flush=True)
            until((self.folder / "go on").exists, 150)
        found = self.saved and tf.train.latest_checkpoint(str(self.saved))
        if found:
            self._saver.restore(session, found)


_OPTIMIZERS = {
    "sgd": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.05, 0.9),
    "adam": lambda tf: tf.train.AdamOptimizer(0.05),
}


class TrainingSite(Site):
    def training(self, **wanted: Any) -> Training:
        return Training(self.folder, **wanted)

    @property
    def weights(self) -> dict[str, Any]:
        """The variables of the last checkpoint."""
        import tensorflow.compat.v1 as tf

        reader = tf.train.load_checkpoint(str(self.folder / "checkpoints"))
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.fixture
def new_site(tmp_path: Path) -> Iterator[Callable[..., TrainingSite]]:
    made: list[TrainingSite] = []

    def make(workers: int = 2, ps: int = 1) -> TrainingSite:
        folder = tmp_path / f"site_{len(made)}"
        folder.mkdir()
        made.append(TrainingSite(folder, workers, ps))
        return made[-1]

    yield make
    for site in made:
        site.end()


@pytest.fixture
def site(new_site: Callable[..., TrainingSite]) -> TrainingSite:
    return new_site()
