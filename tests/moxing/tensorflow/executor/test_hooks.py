"""Hooks: the user's own, and those that evaluate while a model is trained."""

import re

import pytest


def validation_steps(lines, prefix):
    shape = re.compile(re.escape(prefix) + r" step: (\d+)( \w+: -?\d+\.\d{3})+$")
    return [int(found.group(1)) for found in map(shape.match, lines) if found]


def evaluating(program, kind, **more):
    def hooks(loss, **_):
        usual = {"batch_size": 8, "samples_in_train": 64, "samples_in_eval": 16}
        return [kind(monitor_info={"loss": loss}, **{**usual, **more})]

    program.hooks = hooks


@pytest.mark.parametrize(("samples", "steps"), [(1000, [31, 63, 95]), (640, [19, 39, 59, 79, 99])])
def test_evaluation_comes_at_last_step_of_each_epoch(program, mox, log_lines, samples, steps):
    evaluating(
        program,
        mox.LogEvaluationMetricHook,
        batch_size=32,
        samples_in_train=samples,
        samples_in_eval=100,
        prefix="[VALIDATION METRICS]",
    )

    program.run(inter_mode=mox.ModeKeys.EVAL, batch_size=32, max_number_of_steps=100)

    assert validation_steps(log_lines(), "[VALIDATION METRICS]") == steps
    assert program.modes == ["TRAIN", "EVAL"]


def test_evaluation_line_comes_between_lines_of_training(program, mox, log_lines):
    evaluating(program, mox.LogEvaluationMetricHook, samples_in_train=96)

    program.run(inter_mode="EVAL", max_number_of_steps=21)

    seen = [
        line.split("\t")[0]
        for line in log_lines()
        if ("step: " in line and "global" in line) or "[V" in line
    ]
    assert [re.sub(r" loss.*", "", line) for line in seen] == [
        "step: 0(global step: 0)",
        "step: 10(global step: 10)",
        "[VALIDATION METRICS] step: 11",
        "step: 20(global step: 20)",
    ]


def test_evaluation_uses_trained_values_and_its_own_data(program, mox, tf, log_lines):
    program.input_fn = lambda mode: (tf.constant(0.0), tf.constant(7.0 if mode == "EVAL" else 1.0))
    evaluating(program, mox.LogEvaluationMetricHook, samples_in_train=8 * 50)

    program.run(inter_mode="EVAL", max_number_of_steps=50)

    (line,) = [line for line in log_lines() if line.startswith("[VALIDATION METRICS]")]
    assert line == "[VALIDATION METRICS] step: 49 loss: 36.000"


def test_data_that_ends_begins_anew_for_next_evaluation(program, mox, log_lines):
    original = program.input_fn

    def input_fn(mode):
        program.epochs = 1 if mode == "EVAL" else None
        return original(mode)

    program.input_fn = input_fn
    evaluating(program, mox.LogEvaluationMetricHook, samples_in_eval=40)

    program.run(inter_mode="EVAL", max_number_of_steps=40)

    assert validation_steps(log_lines(), "[VALIDATION METRICS]") == [7, 15, 23, 31, 39]


def test_constant_metric_ends_training_after_patience(program, mox, tf, log_lines, tmp_path):
    def hooks(**_):
        return [
            mox.EarlyStoppingHook(
                monitor_info={"accuracy": tf.constant(0.0)},
                monitor="accuracy",
                batch_size=32,
                samples_in_train=640,
                samples_in_eval=32,
                evaluate_every_n_epochs=1,
                min_delta=0.01,
                patience=3,
                prefix="[EarlyStopping]",
            )
        ]

    program.hooks = hooks
    program.run(inter_mode="EVAL", batch_size=32, max_number_of_steps=10000, log_dir=str(tmp_path))

    lines = log_lines()
    assert validation_steps(lines, "[EarlyStopping]") == [19, 39, 59, 79]
    assert lines[-1] == f"Saving checkpoints for 80 into {tmp_path}/model.ckpt."


@pytest.mark.parametrize(
    ("mode", "name", "values", "stops"),
    [
        ("auto", "loss", [3, 2, 1, 0.5, 0.2], [False] * 5),
        ("auto", "loss", [3, 4, 5], [False, False, True]),
        ("auto", "top_5", [0.1, 0.2, 0.3], [False] * 3),
        ("max", "loss", [3, 2, 1], [False, False, True]),
        ("min", "accuracy", [3, 2, 1], [False] * 3),
        ("auto", "accuracy", [0.5, 0.505, 0.508], [False, False, True]),
    ],
)
def test_better_is_read_from_name_of_metric(mode, name, values, stops):
    from moxing.tensorflow.executor.hooks import PlateauDetector

    watch = PlateauDetector(name, mode, min_delta=0.01, patience=2, baseline=None)

    assert [watch.stalls(value) for value in values] == stops


def test_plateau_lowers_rate_and_several_end_training(program, mox, tf, log_lines, tmp_path):
    def hooks(**_):
        return [
            mox.PlateauLREarlyStoppingHook(
                monitor_info={"loss": tf.constant(1.0)},
                monitor="loss",
                batch_size=8,
                samples_in_train=8,
                samples_in_eval=8,
                patience=1,
                factor=0.5,
                max_plateaus=3,
            )
        ]

    program.hooks = hooks
    program.run(inter_mode="EVAL", max_number_of_steps=50, log_dir=str(tmp_path))

    reported = [line for line in log_lines() if line.startswith("[Plateau") and "rate" in line]
    assert reported == [
        "[PlateauLREarlyStopping] plateau 1: learning rate 0.3 -> 0.15",
        "[PlateauLREarlyStopping] plateau 2: learning rate 0.15 -> 0.075",
    ]
    reader = tf.train.load_checkpoint(str(tmp_path))
    assert reader.get_tensor("global_step") == 4
    assert reader.get_tensor("mox_lr_scale") == 0.25


def test_a_hook_that_evaluates_needs_the_other_mode(program, mox):
    evaluating(program, mox.LogEvaluationMetricHook)

    with pytest.raises(ValueError, match=r"LogEvaluationMetricHook.*give mox.run\(inter_mode="):
        program.run()


@pytest.mark.parametrize(("only", "other"), [("TRAIN", "EVAL"), ("EVAL", "TRAIN")])
def test_hook_that_evaluates_is_needed_in_both_modes(program, mox, only, other):
    def hooks(loss, mode, **_):
        return [mox.LogEvaluationMetricHook({"loss": loss}, 8, 64, 8)] if mode == only else []

    program.hooks = hooks

    with pytest.raises(ValueError, match=f"as hook 0 in mode {only} and not in mode {other}: ret"):
        program.run(inter_mode="EVAL")


def test_unknown_metric_error_lists_the_metrics(mox, tf):
    with pytest.raises(ValueError, match=r"monitor='acc' is not in monitor_info. It has 'loss'"):
        mox.EarlyStoppingHook({"loss": tf.constant(1.0)}, "acc", 8, 64, 8)


def test_counts_of_nothing_are_reported(mox, tf):
    with pytest.raises(ValueError, match="greater than 0, got batch_size=0, samples_in_eval=-1"):
        mox.LogEvaluationMetricHook({"loss": tf.constant(1.0)}, 0, 64, -1)


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"batch_size": "8"}, r"greater than 0, got batch_size='8'"),
        ({"patience": "3"}, r"0 or more, got patience='3'"),
        ({"min_delta": "x"}, r"a number, got min_delta='x'"),
        ({"factor": 2, "cooldown": -1}, r"between 0 and 1, got factor=2"),
        ({"cooldown": -1, "min_lr": None}, r"0 or more, got cooldown=-1, min_lr=None"),
        ({"max_plateaus": 0}, r"1 or more, got max_plateaus=0"),
    ],
)
def test_invalid_number_is_reported_by_hook_constructor(mox, tf, given, reported):
    usual = {"batch_size": 8, "samples_in_train": 64, "samples_in_eval": 8}

    with pytest.raises(ValueError, match=f"PlateauLREarlyStoppingHook: must be {reported}"):
        mox.PlateauLREarlyStoppingHook({"loss": tf.constant(1.0)}, "loss", **{**usual, **given})


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        (lambda tf: tf.zeros([8, 1]), r"must be a tensor of rank 0, got shape \(8, 1\)"),
        (lambda tf: 0.5, r"must be a tensor of rank 0, got float"),
        (lambda tf: tf.constant("high"), r"must be a number, got a tensor of string"),
    ],
    ids=["a batch", "no tensor", "text"],
)
def test_what_cannot_be_evaluated_is_reported_before_training(mox, tf, value, reported):
    with pytest.raises(ValueError, match=rf"monitor_info\['loss'\] {reported}"):
        mox.LogEvaluationMetricHook({"loss": value(tf)}, 8, 64, 8)


def test_placeholder_that_nothing_feeds_is_reported_with_hint(program, tf):
    def spec(loss, **_):
        return {"loss": loss + tf.placeholder(tf.float32, [], "target")}

    program.spec = spec

    with pytest.raises(ValueError, match=r"^Nothing feeds the placeholder 'target'.*FeedSession"):
        program.run()


def test_a_placeholder_is_fed_in_every_step(program, mox, tf, log_lines):
    from moxing.tensorflow.executor.hooks import FeedSessionRunHook

    def model_fn(inputs, mode):
        fed = tf.placeholder(tf.float32, [2])
        loss = tf.reduce_sum(tf.get_variable("w", []) * 0 + fed)
        hook = FeedSessionRunHook(feed_dict={fed: [1.0, 2.5]})
        return mox.ModelSpec(loss=loss, log_info={"fed": loss}, hooks=[hook])

    program.run(model_fn=model_fn, max_number_of_steps=11)

    assert [line.split("\t")[-1] for line in log_lines() if "global step" in line] == [
        "fed: 3.500"
    ] * 2


def test_a_value_to_feed_may_be_a_function(mox, tf):
    from moxing.tensorflow.executor.hooks import FeedSessionRunHook

    counted = iter(range(3))
    hook = FeedSessionRunHook({"x": lambda: next(counted)})

    assert [hook.before_run(None).feed_dict for _ in range(3)] == [{"x": 0}, {"x": 1}, {"x": 2}]


def ring(mox, tf, calls, aggregates=False):
    class Ring(mox.AggregativeSessionRunHook):
        def __init__(self, tensor):
            self.tensor = tensor

        def before_run(self, run_context):
            return tf.train.SessionRunArgs(self.tensor)

        def after_run(self, run_context, run_values):
            calls.append(float(run_values.results))

        def support_aggregation(self):
            return aggregates

        def support_sync_workers(self):
            return False

        def run_inter_mode(self):
            return False

    return Ring


def test_a_hook_of_the_user_sees_every_step(program, mox, tf):
    calls = []
    kind = ring(mox, tf, calls)
    program.hooks = lambda loss, **_: [kind(loss)]

    program.run(max_number_of_steps=12)

    assert len(calls) == 12


@pytest.mark.parametrize(("aggregates", "expected"), [(False, [0.0, 1.0]), (True, [0.5])])
def test_hooks_run_per_clone_or_on_mean(program, mox, tf, flags, aggregates, expected):
    flags("num_gpus", 2)
    calls: list[float] = []
    clones = iter((0.0, 1.0))
    kind = ring(mox, tf, calls, aggregates)
    program.hooks = lambda **_: [kind(tf.constant(next(clones)))]

    program.run(max_number_of_steps=1)

    assert calls == expected


def test_a_hook_may_ask_for_the_end(program, tf, tmp_path, mox):
    from mox_checkpoints import steps_in

    class Enough(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            run_context.request_stop()

    program.hooks = lambda **_: [Enough()]

    program.run(log_dir=str(tmp_path))

    assert steps_in(tmp_path) == [0, 1]


def test_missing_answers_of_hook_are_named_before_run(program, mox):
    class Half(mox.AggregativeSessionRunHook):
        def support_aggregation(self):
            return False

    program.hooks = lambda **_: [Half()]

    with pytest.raises(TypeError, match=r"Half must implement support_sync_workers\(\), run_inter"):
        program.run()
