"""Checkpoints cut, emptied or gone: every style goes on from the newest one that is whole."""

import shutil

from repetitions import tried

SAVED, INTERVAL, UNTIL = 30, 10, 40


def momentum(tf):
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    step = tf.train.get_or_create_global_step()
    train_op = tf.train.MomentumOptimizer(1.0, 0.5).minimize(-weight, global_step=step)
    return weight, step, train_op


def by_session(tf, folder, until):
    weight, step, train_op = momentum(tf)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        state = tf.train.get_checkpoint_state(folder)
        if state and state.model_checkpoint_path:
            saver.restore(session, state.model_checkpoint_path)
        begun = session.run(step)
        for number in range(begun + 1, until + 1):
            session.run(train_op)
            if number % INTERVAL == 0:
                saver.save(session, f"{folder}/model.ckpt", number)
        return begun, session.run(weight)


def by_supervisor(tf, folder, until):
    weight, step, train_op = momentum(tf)
    supervisor = tf.train.Supervisor(
        logdir=folder, global_step=step, save_model_secs=0, summary_op=None
    )
    with supervisor.managed_session() as session:
        begun = session.run(step)
        for number in range(begun + 1, until + 1):
            session.run(train_op)
            if number % INTERVAL == 0:
                supervisor.saver.save(session, supervisor.save_path, number)
        return begun, session.run(weight)


def by_monitored_session(tf, folder, until):
    weight, _, train_op = momentum(tf)
    ledger = ledger_of(tf, weight)
    hooks = [ledger, tf.train.StopAtStepHook(last_step=until)]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=INTERVAL
    ) as session:
        while not session.should_stop():
            session.run(train_op)
    return ledger.begun, ledger.result


def by_estimator(tf, folder, until):
    ledgers = []

    def model_fn(features, labels, mode):
        weight, _, train_op = momentum(tf)
        ledgers.append(ledger_of(tf, weight))
        return tf.estimator.EstimatorSpec(
            mode, loss=-weight, train_op=train_op, training_hooks=ledgers
        )

    config = tf.estimator.RunConfig(model_dir=folder, save_checkpoints_steps=INTERVAL)
    data = lambda: tf.data.Dataset.from_tensors(([1.0], [1.0])).repeat()  # noqa: E731
    tf.estimator.Estimator(model_fn, config=config).train(data, max_steps=until)
    return ledgers[0].begun, ledgers[0].result


def by_mox_run(tf, folder, until):
    import moxing.tensorflow as mox

    ledgers = []

    def model_fn(inputs, mode):
        weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
        ledgers.append(ledger_of(tf, weight))
        return mox.ModelSpec(loss=tf.reduce_mean(-weight * inputs), hooks=ledgers)

    mox.run(
        input_fn=lambda mode: tf.ones([]),
        model_fn=model_fn,
        optimizer_fn=lambda: tf.train.MomentumOptimizer(1.0, 0.5),
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=2,
        log_dir=folder,
        max_number_of_steps=until,
        save_model_steps=INTERVAL,
    )
    return ledgers[0].begun, ledgers[0].result


def ledger_of(tf, weight):
    """Return a hook that knows at which step a training began, and what came of it."""

    class Ledger(tf.train.SessionRunHook):
        begun = result = None

        def after_run(self, run_context, run_values):
            step = run_context.session.run(tf.train.get_global_step())
            self.begun = step - 1 if self.begun is None else self.begun
            self.result = run_context.session.run(weight)

    return Ledger()


STYLES = (by_session, by_supervisor, by_monitored_session, by_estimator, by_mox_run)
FILES = ("checkpoint", ".index", ".data-00000-of-00001")


def harm(folder, chance):
    """Damage what a crash may; return where it was done and the step that is whole still."""
    kind = chance.choice(FILES)
    if kind == "checkpoint":
        return spoil(folder / kind, chance), SAVED
    newest = [SAVED, SAVED - INTERVAL][: chance.randint(1, 2)]
    done = [spoil(folder / f"model.ckpt-{step}{kind}", chance) for step in newest]
    return ", ".join(done), newest[-1] - INTERVAL


def spoil(path, chance):
    whole = path.read_bytes()
    at = chance.randrange(len(whole))
    ways = ["cut", "zeros", "gone"] if path.name != "checkpoint" else ["cut"]
    match way := chance.choice(ways):
        case "cut":
            path.write_bytes(whole[:at])
        case "zeros":
            at = chance.randrange(len(whole) // 2)  # the last bytes of a part may be zeros anyway
            path.write_bytes(whole[:at] + bytes(len(whole) - at))
        case "gone":
            path.unlink()
    return f"{path.name} {way} at {at} of {len(whole)}"


@tried(quick=10, long=100)
def test_a_training_goes_on_from_what_is_whole(tf, tmp_path, chance, measured, count):
    expected = fresh(tf, by_session, tmp_path / "expected", UNTIL)[1]
    trained = {}
    for style in STYLES:
        fresh(tf, style, tmp_path / "new", SAVED)
        # Moved, so that nothing is found by the paths that were written down.
        trained[style] = (tmp_path / "new").rename(tmp_path / style.__name__)

    wrong = []
    for number in range(count):
        style = STYLES[number % len(STYLES)]
        folder = shutil.copytree(trained[style], tmp_path / str(number))
        what, whole = harm(folder, chance)
        begun, result = fresh(tf, style, folder, UNTIL)
        if (begun, result) != (whole, expected):
            wrong.append(f"{style.__name__}: {what}: begun at {begun}, not {whole}: {result}")
    measured("F2", damaged=count, survived=count - len(wrong))
    assert wrong == []


def fresh(tf, style, folder, until):
    """Train in a graph of its own, as a new process would."""
    with tf.Graph().as_default():
        return style(tf, str(folder), until)
