from danlu.job.modelmaker import DEFAULTS, put_together


def test_without_anything_the_defaults_are_the_manuals():
    assert put_together([]) == {
        "save_checkpoints_steps": None,
        "save_checkpoints_secs": 600,
        "keep_checkpoint_max": 5,
        "log_step_count_steps": 100,
        "train_max_steps": 10000,
        "eval_steps": 100,
        "eval_start_delay_secs": 120,
        "eval_throttle_secs": 600,
    }


def test_later_layer_wins_and_other_names_come_along():
    together = put_together([{"eval_steps": 1, "units": 64}, {"units": 128}])

    assert together == {**DEFAULTS, "eval_steps": 1, "units": 128}


def test_steps_take_the_default_of_seconds_back():
    together = put_together([{"save_checkpoints_steps": 50}])

    assert (together["save_checkpoints_steps"], together["save_checkpoints_secs"]) == (50, None)


def test_the_later_of_steps_and_seconds_decides():
    together = put_together([{"save_checkpoints_steps": 50}, {"save_checkpoints_secs": 30}])

    assert (together["save_checkpoints_steps"], together["save_checkpoints_secs"]) == (None, 30)


def test_none_for_both_means_no_checkpoints():
    off = {"save_checkpoints_steps": None, "save_checkpoints_secs": None}

    assert put_together([off]) == {**DEFAULTS, **off}
