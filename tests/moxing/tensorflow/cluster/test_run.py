"""``mox.run`` of whole programs on two workers and a parameter server."""

import numpy as np
import pytest


def program(folder, steps=12, optimizer="sgd", shown=3, **wanted):
    """Return a user's script: a linear model of eight numbers that every batch repeats."""

    def script():
        import tensorflow.compat.v1 as tf

        import moxing.tensorflow as mox
        from moxing.tensorflow.executor import ops_adapter

        def input_fn(mode, **kwargs):
            x = np.random.RandomState(3).rand(48, 4).astype(np.float32)
            y = x @ np.array([1.0, -2.0, 0.5, 3.0], np.float32)
            mine = slice(ops_adapter.rank(), None, ops_adapter.size())
            data = tf.data.Dataset.from_tensor_slices((x[mine], y[mine]))
            if "epochs" in wanted:
                return data.repeat(wanted["epochs"][ops_adapter.rank()])
            return data.repeat()

        def model_fn(inputs, mode, **kwargs):
            x, y = inputs
            w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
            b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
            guess = tf.squeeze(x @ w, 1) + b
            loss = tf.reduce_mean(tf.square(guess - y))
            hooks = wanted["hooks"](mox, loss) if "hooks" in wanted else None
            export = mox.ExportSpec(inputs_dict={"x": x}, outputs_dict={"y": guess})
            return mox.ModelSpec(
                loss=loss, log_info={"loss": loss}, hooks=hooks, export_spec=export
            )

        given = {
            "input_fn": input_fn,
            "model_fn": model_fn,
            "optimizer_fn": mox.get_optimizer_fn(optimizer, learning_rate=0.1),
            "batch_size": wanted.get("batch_size", 2),
            "log_dir": str(folder),
            "log_every_n_steps": shown,
        }
        mox.run(
            run_mode=mox.ModeKeys.TRAIN,
            max_number_of_steps=steps,
            inter_mode=mox.ModeKeys.EVAL if "hooks" in wanted else None,
            save_model_steps=5,
            export_model=wanted.get("export", False),
            **given,
        )
        if wanted.get("evaluate"):
            return mox.run(run_mode=mox.ModeKeys.EVAL, max_number_of_steps=3, **given)
        return sorted(each.name for each in folder.iterdir())

    return script


def values(folder):
    import tensorflow.compat.v1 as tf

    reader = tf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def ends(site, script, **flags):
    servers, workers = site.begin_all(script, **flags)
    assert [task.waits() for task in (*workers, *servers)] == [0] * len(site.tasks)
    return workers


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_two_workers_match_one_with_whole_batch(tf, new_site, tmp_path, optimizer):
    two, one = new_site(ps=2), new_site(workers=1)

    workers = ends(two, program(tmp_path / "two", optimizer=optimizer))
    ends(one, program(tmp_path / "one", optimizer=optimizer, batch_size=4))

    assert "step: 9(global step: 9)" in workers[0].text
    assert "step: 9(global step: 9)" in workers[1].text
    together, alone = values(tmp_path / "two"), values(tmp_path / "one")
    assert together["global_step"] == 12
    assert sorted(together) == sorted(alone)
    for name, value in alone.items():
        assert together[name] == pytest.approx(value, abs=1e-5), name


@pytest.mark.smoke
def test_chief_alone_writes_and_others_find_it_written(tf, site, tmp_path):
    workers = ends(site, program(tmp_path / "log", export="TF_SERVING"))

    chief, other = (task.value for task in workers)
    assert other == chief
    assert "1" in chief
    assert len([name for name in chief if name.startswith("events.")]) == 1
    assert "Saving checkpoints" not in workers[1].text


def test_second_run_evaluates_what_first_has_trained(tf, site, tmp_path):
    workers = ends(site, program(tmp_path / "log", steps=60, evaluate=True))

    assert all(task.value["loss"] < 0.5 for task in workers)


def test_without_steps_together_all_count_into_one_checkpoint(tf, site, tmp_path):
    workers = ends(site, program(tmp_path / "log", steps=10**6, epochs=(1, 3)), sync_replicas=False)

    assert values(tmp_path / "log")["global_step"] == 12 + 36
    assert len(workers) == 2


@pytest.mark.parametrize("together", [True, False])
def test_early_stopping_on_chief_stops_all_workers(tf, site, tmp_path, together):
    def hooks(mox, loss):
        return [
            mox.EarlyStoppingHook(
                monitor_info={"loss": loss},
                monitor="loss",
                batch_size=2,
                samples_in_train=24,
                samples_in_eval=4,
                min_delta=1e9,
                patience=1,
            )
        ]

    script = program(tmp_path / "log", steps=10**6, hooks=hooks)
    workers = ends(site, script, sync_replicas=together)

    assert workers[0].text.count("[EarlyStopping] step:") == 2
    assert "[EarlyStopping]" not in workers[1].text


def test_a_killed_worker_comes_back_into_the_run(tf, site, tmp_path):
    script = program(tmp_path / "log", steps=300, shown=1)
    (server,), (chief, worker) = site.begin_all(script)
    worker.wait_for_output("step: 10(")

    worker.kill()
    back = site.begin("worker", 1, script)

    assert [task.waits() for task in (chief, back, server)] == [0, 0, 0]
    assert values(tmp_path / "log")["global_step"] == 300


def test_a_killed_chief_goes_on_from_its_checkpoint(tf, site, tmp_path):
    script = program(tmp_path / "log", steps=400, shown=1)
    (server,), (chief, worker) = site.begin_all(script)
    worker.wait_for_output("step: 20(")

    chief.kill()
    saved = int(values(tmp_path / "log")["global_step"])
    back = site.begin("worker", 0, script)

    assert [task.waits() for task in (back, worker, server)] == [0, 0, 0]
    assert values(tmp_path / "log")["global_step"] == 400
    assert f"step: {saved}(global step: {saved})" in back.text
