"""Which target runs a test, which tests share an xdist worker, and which start first.

A test that needs Ray, PostgreSQL or SeaweedFS, that injects faults (tests/chaos) or that is listed
in ``SLOW`` gets the marker ``services`` and runs in ``make test-services``; one of ``LONG`` runs in
``make test-long``. The few with the marker ``smoke`` stay in ``make test``. Starting a service
takes seconds and two of a kind do not fit on two cores, so all tests of one service run in the same
worker. Other tests are grouped by file. The groups that took longest when tests/durations.json was
written start first, so that no long one is left at the end.
"""

import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from forked import INSIDE

DURATIONS = Path(__file__).with_name("durations.json")
_UNKNOWN = 10.0  # seconds assumed for a group that has not been measured

# xdist's own groups are a suffix of the test's name, which pytest does not accept since 9.2: a
# scheduler sees names alone, so the tests are listed here by the beginning of their names.
SHARED = {
    "ray": (
        "tests/executors/test_ray.py::",
        "tests/executors/test_ray_faults.py::",
        "tests/programs/test_ray.py::",
        "tests/programs/test_ray_network.py::",
        "tests/chaos/test_peer_killed_on_ray.py::",
    ),
    "seaweed": (
        "tests/programs/test_stores.py::",
        "tests/runtime/tffs/test_service.py::",
        "tests/storage/test_s3_contract.py::",
        "tests/storage/test_s3_processes.py::",
        "tests/storage/test_s3_resume.py::",
        "tests/storage/test_s3_service.py::",
        "tests/storage/test_s3_uploads.py::",
        "tests/storage/test_sync.py::",
    ),
    "postgres": (
        "tests/chaos/test_two_servers.py::",
        "tests/records/test_postgres.py::",
        "tests/records/test_postgres_settings.py::",
        "tests/test_docs.py::test_what_is_marked_run_runs_with_a_database",
    ),
}
# Long trainings, and programs that import TensorFlow anew each.
SLOW = (
    "tests/moxing/tensorflow/executor/test_many_steps.py::test_xla_choice_is_kept_by_resumed_run",
    "tests/moxing/tensorflow/nets/test_get_model_fn.py::test_8k_takes_stride_and_initializer_of_its_own",
    "tests/programs/test_plain_scripts.py::test_job_ending_without_server_is_kept",
    "tests/programs/test_plain_scripts.py::test_server_whose_socket_was_taken_away_is_replaced",
    "tests/runtime/keras2/test_data_files.py::test_weights_of_application_come_from_input",
    "tests/runtime/keras2/test_scikit_learn.py::test_a_grid_is_searched",
    "tests/runtime/old/test_sklearn.py::test_arguments_of_before",
    "tests/runtime/repair/test_keras_imports.py::test_a_script_gets_the_layers_of_its_keras",
    "tests/runtime/test_check.py::test_script_of_tf2_is_asked_of_tf2",
    "tests/runtime/tf1/contrib/test_learn_estimators.py::test_columns_of_both_kinds_are_taken",
    "tests/runtime/tf1/contrib/test_learn_experiment.py::test_training_and_evaluation_take_turns",
    "tests/runtime/tf1/contrib/test_learn_experiment.py::test_a_validation_monitor_stops_when_nothing_gets_better",
    "tests/runtime/tf1/test_layouts.py::test_nchw_networks_train_without_onednn",
    "tests/runtime/tffs/test_errors.py::test_a_large_tensor_elsewhere_is_read_whole",
    "tests/service/test_versions.py::test_names_are_of_one_or_of_other",
    "tests/test_docs.py::test_what_is_marked_run_runs[docs/guides/algorithms.md]",
    "tests/agent/test_package_failures.py::test_optional_setup_requirements_are_skipped",
    "tests/agent/test_package_failures.py::test_stop_while_packages_are_built_ends_task",
    "tests/agent/test_package_failures.py::test_uninstallable_lines_of_optional_file_are_skipped",
    "tests/agent/test_packages.py::test_an_old_version_without_a_wheel_is_built",
    "tests/agent/test_packages.py::test_pip_in_script_installs_for_this_task_only",
    *(
        "tests/agent/test_packages.py::"
        f"test_script_imports_what_its_requirements_file_asks_for[{bench}]"
        for bench in ("user", "nobody", "copies", "none")
    ),
    "tests/agent/test_packages.py::test_two_agents_build_the_same_environment_once",
    "tests/cli/test_command_line.py::test_a_rerun_takes_other_parameters",
    "tests/cli/test_command_line.py::test_the_server_is_found_started_and_stopped",
    "tests/client/test_background.py::test_a_killed_server_comes_back_at_its_address",
    "tests/client/test_background.py::test_address_that_was_taken_down_does_not_return",
    "tests/client/test_background.py::test_failed_server_start_leaves_reason_in_log",
    "tests/client/test_background.py::test_token_survives_restarts_until_rotated",
    "tests/client/test_background.py::test_up_again_changes_nothing",
    "tests/client/test_server_kills.py::test_a_follower_goes_on_from_its_line",
    "tests/client/test_server_kills.py::test_an_acknowledged_job_is_there_and_there_once",
    "tests/client/test_server_kills.py::test_an_upload_begins_again",
    "tests/client/test_server_kills.py::test_wait_continues_after_a_server_restart",
    "tests/moxing/tensorflow/cluster/test_models.py::",
    "tests/moxing/tensorflow/cluster/test_rejoining.py::",
    "tests/moxing/tensorflow/executor/test_many_steps.py::test_lines_and_curves_are_the_same",
    "tests/moxing/tensorflow/executor/test_many_steps.py::test_the_values_are_bit_equal[dropout",
    "tests/programs/test_algorithms.py::test_a_job_file_names_an_algorithm",
    "tests/programs/test_algorithms.py::test_changed_and_removed_definitions_keep_their_jobs",
    "tests/programs/test_modelmaker.py::test_example_learns_and_stores_its_model",
    "tests/programs/test_packages.py::",
    "tests/programs/test_progress.py::test_job_failed_after_training_keeps_its_curve",
    "tests/programs/test_progress.py::test_limited_loop_saves_and_has_its_curve",
    "tests/programs/test_tasks_together.py::",
    "tests/programs/test_ti.py::test_a_lost_attempt_goes_on_from_its_checkpoint",
    "tests/programs/test_ti.py::test_instances_have_names_and_first_keeps_model",
    "tests/server/test_process.py::test_server_stays_until_its_job_has_ended",
    "tests/server/test_process.py::test_two_hundred_followers_are_harmless",
    "tests/service/test_many_jobs.py::",
    "tests/service/test_ownership.py::test_clock_jump_of_database_causes_no_takeover",
    "tests/runtime/repair/test_untouched.py::",
    "tests/runtime/tf1/contrib/test_contrib_estimator.py::test_an_example_may_have_several_labels",
    "tests/runtime/tf1/contrib/test_contrib_estimator.py::test_evaluation_runs_in_memory_while_training",
    "tests/runtime/tf1/contrib/test_contrib_estimator.py::test_several_heads_share_a_body",
    "tests/runtime/tf1/contrib/test_translation.py::",
    "tests/runtime/tffs/test_keras.py::test_callbacks_write_to_the_store[.h5]",
    "tests/test_forked.py::",
    *(
        f"tests/agent/test_training.py::test_steps_and_curves_of_failed_script_are_kept[{bench}]"
        for bench in ("user", "nobody", "copies", "none")
    ),
    "tests/agent/test_hang_detector.py::test_script_that_computes_in_silence_is_not_flagged",
    "tests/moxing/tensorflow/cluster/test_asynchronous.py::",
    *(
        f"tests/runtime/fused/test_equality.py::test_what_is_drawn_with_a_seed[{drawn}"
        for drawn in ("None-noise", "None-truncated", "None-sampled", "11-noise", "11-truncated")
    ),
    *(
        f"tests/runtime/fused/test_equality.py::test_every_optimizer[{optimizer}]"
        for optimizer in ("nesterov", "rmsprop", "adagrad", "adadelta")
    ),
    "tests/runtime/keras2/test_sessions.py::test_estimator_is_made_of_model_and_trains[keras]",
    "tests/runtime/keras2/test_sessions.py::test_estimator_is_made_of_model_and_trains[name]",
    "tests/runtime/keras2/test_sessions.py::test_estimator_of_model_trains_under_strategy",
    "tests/runtime/modelmaker/test_manual_network.py::",
    "tests/runtime/tf1/contrib/test_contrib_estimator.py::test_sdca_takes_sparse_bucketized_and_crossed_columns",
    "tests/runtime/tf1/contrib/test_learn_experiment.py::test_a_rehearsal_takes_one_step_of_each",
    "tests/runtime/tf1/contrib/test_learn_experiment.py::test_continuous_evaluation_ends_with_the_last_step",
    "tests/runtime/tf1/contrib/test_learn_experiment.py::test_estimator_of_tf_estimator_runs_in_experiment",
    "tests/runtime/tf1/test_estimator.py::test_it_trains_on_several_devices_by_configuration",
    "tests/runtime/tf1/test_estimator.py::test_the_canned_ones_learn_from_feature_columns",
    "tests/runtime/tffs/test_keras.py::test_a_model_is_loaded_as_it_was_saved[model]",
    "tests/runtime/tffs/test_keras.py::test_weights_are_loaded_as_they_were_saved[weights.h5]",
    "tests/security/test_denial.py::test_silent_connections_block_no_other_client[tcp]",
    "tests/test_docs.py::test_what_is_marked_run_runs[docs/guides/ti-sdk.md]",
    "tests/agent/test_warm_client.py::",
    "tests/moxing/tensorflow/cluster/test_run.py::",
    "tests/moxing/tensorflow/cluster/test_synchronous.py::",
    "tests/moxing/tensorflow/preset/test_training.py::",
    "tests/programs/test_user_mistakes.py::",
    "tests/programs/test_distributed_guide.py::",
    "tests/programs/test_full_home.py::",
    "tests/programs/test_hints.py::test_program_runs_after_change",
    "tests/programs/test_hints.py::test_tensorflow_program_runs_after_change",
    "tests/programs/test_moxing.py::",
    "tests/programs/test_outputs.py::test_rm_asks",
    "tests/programs/test_outputs.py::test_store_keeps_as_many",
    "tests/programs/test_rehearsal.py::",
    "tests/programs/test_stores.py::test_the_program_of_kdls_manual_trains_on_ks3",
    "tests/programs/test_temporary_files.py::test_show_",
    "tests/programs/test_tf1_modes.py::",
    "tests/programs/test_tf1_programs.py::",
    "tests/programs/test_train_url.py::",
    "tests/programs/test_ti_sdk.py::",
    "tests/programs/test_translation.py::",
    "tests/programs/test_unstored.py::",
    "tests/runtime/fused/test_xla.py::",
    "tests/runtime/modelmaker/test_estimator_parameters.py::",
    "tests/runtime/modelmaker/test_fused.py::",
    "tests/runtime/modelmaker/test_receivers.py::",
    "tests/runtime/modelmaker/test_training.py::",
    "tests/runtime/tf1/test_contrib_coverage.py::test_each_call_gives_what_it_should",
    "tests/runtime/tffs/test_shutdown.py::",
    "tests/runtime/tffs/test_program.py::",
    "tests/test_docs.py::test_what_is_marked_run_runs[docs/guides/translation.md]",
    "tests/ti/test_fit.py::test_fit_again_uses_fresh_code",
)
# More cases of what one case of make test-services shows, run by make test-long.
LONG = (
    "tests/chaos/test_peer_killed.py::test_killed_evaluator_costs_no_more_than_checkpoint",
    *(
        f"tests/chaos/test_peer_killed.py::test_killed_task_stops_others_and_job_continues[{style}]"
        for style in ("mox", "modelmaker", "plain")
    ),
    *(
        "tests/chaos/test_trainer_killed.py::"
        f"test_killed_trainer_goes_on_from_its_last_checkpoint[quick-{style}]"
        for style in ("modelarts", "ti", "modelmaker")
    ),
    "tests/agent/test_warm_client.py::test_same_process_serves_scripts_of_second_generation",
    # CI runs make demo.
    "tests/cli/test_command_line.py::test_demo_runs_one_job_of_each_service",
    *(
        "tests/moxing/tensorflow/nets/test_zoo.py::test_network_has_variables_of_public_one"
        f"[{network}"
        for network in (
            *("alexnet", "inception", "mobilenet_v2_140", "overfeat", "resnet_v1_50"),
            *("resnet_v2_50", "resnext_c", "vgg", "xception"),
        )
    ),
    *(
        "tests/moxing/tensorflow/nets/test_families.py::"
        f"test_cells_halve_the_picture_and_double_their_depth[{case}]"
        for case in ("False-NHWC", "False-NCHW")
    ),
    "tests/moxing/tensorflow/nets/test_families.py::test_inception_3_has_second_classifier_unless_asked_otherwise[True]",
    *(
        "tests/runtime/tf1/contrib/test_rnn.py::test_a_cell_learns_every_variable_of_its_scope"
        f"[{cell}]"
        for cell in ("attention_cell_wrapper", "grid_lstm_cell", "weight_norm_lstm_cell")
    ),
    "tests/runtime/tf1/contrib/test_slim.py::test_the_networks_are_there[inception_v3",
    "tests/programs/test_hints.py::test_tensorflow_program_runs_after_change_that_hint_names[data_file]",
    "tests/programs/test_moxing.py::test_keras_json_model_keeps_its_accuracy",
    "tests/programs/test_moxing.py::test_large_batches_in_half_precision_learn_with_lars",
    "tests/programs/test_moxing.py::test_pictures_are_learned_by_many_as_by_one",
    "tests/programs/test_rehearsal.py::test_a_rehearsal_of_keras_ends_after_three_batches[2.18]",
    "tests/programs/test_stores.py::test_the_program_of_kdls_manual_trains_on_ks3[embedded]",
    "tests/programs/test_tf1_programs.py::test_second_job_exports_to_place_of_first",
    "tests/programs/test_tf1_programs.py::test_a_small_resnet_of_slim_trains",
    "tests/programs/test_verify.py::",  # installs TensorFlow 1.15.5
    "tests/runtime/fused/test_xla.py::",
    "tests/runtime/tf1/test_reference.py::test_programs_give_numbers_of_reference",
    "tests/runtime/modelmaker/test_fused.py::test_outputs_equal_those_of_single_steps[dropout]",
    "tests/runtime/modelmaker/test_fused.py::test_with_xla_it_is_same_to_five_digits",
)


def group_of(test: str) -> str:
    """Return the service a test shares with others, or its file."""
    shared = (group for group, names in SHARED.items() if test.startswith(names))
    return next(shared, test.split("::")[0])


def services_of(item: pytest.Item) -> set[str]:
    """Return the services that a test needs."""
    needs = {"ray"} if item.get_closest_marker("ray") else set()
    return needs | {"seaweed", "postgres"}.intersection(getattr(item, "fixturenames", ()))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-durations", action="store_true", help=f"write {DURATIONS.name}")


@pytest.hookimpl(optionalhook=True)  # xdist is not loaded in the processes of forked.py
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give whole groups to workers, in the order of the collected tests."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False
    return Groups(config, log)


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    unlisted = []
    for item in items:
        services = services_of(item)
        if services and group_of(item.nodeid) not in services:
            unlisted.append(item.nodeid)
        if item.get_closest_marker("smoke"):
            continue
        if item.nodeid.startswith(LONG):
            item.add_marker("long")
        if services or item.nodeid.startswith(("tests/chaos/", *SLOW)):
            item.add_marker("services")
    if unlisted:
        names = ", ".join(unlisted)
        raise pytest.UsageError(f"Add these tests to SHARED in tests/schedule.py: {names}")
    if "tensorflow" in sys.modules and INSIDE not in os.environ:
        # Every xdist worker would spend ten seconds and 600 MB on it.
        raise pytest.UsageError(
            "A test file imports TensorFlow when it is collected. Import it inside the test."
        )
    seconds = _durations().get(config.option.markexpr, {}).get("groups", {})
    items.sort(key=lambda item: -seconds.get(group_of(item.nodeid), _UNKNOWN))


def _durations() -> dict[str, Any]:
    """Return what was written of each target, by the marker expression that selects its tests."""
    return json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}


class DurationWriter:
    """Collects how long tests take and writes it for the next run and for readers."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._tests: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tests[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        groups: dict[str, float] = defaultdict(float)
        for test, seconds in self._tests.items():
            groups[group_of(test)] += seconds
        slowest = sorted(self._tests.items(), key=lambda entry: -entry[1])[:50]
        found = {
            "tests": len(self._tests),
            "seconds": round(sum(self._tests.values()), 1),
            "slowest": {test: round(seconds, 2) for test, seconds in slowest},
            "groups": {name: round(groups[name], 1) for name in sorted(groups)},
        }
        targets = {**_durations(), self._target: found}
        DURATIONS.write_text(json.dumps(targets, indent=1) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--write-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(DurationWriter(config.option.markexpr))
