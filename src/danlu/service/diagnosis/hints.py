"""Hints for the pitfalls in the services' documents; a hint is shown after the cause.

A hint is matched against the failure record and the plan. The log is not searched, except for the
last lines that argument parsers print (``arguments.py``). If several hints match, the first one in
the table is shown, so put the narrower one above. The message of a hint is ``card.<code>`` in the
message catalogue, or ``card.<code>.<variant>`` if its values include ``variant``. An option of
``danlu run`` that not every service accepts is never part of a message. It is one of the values
and comes from ``danlu.dialects.options``.

Contract: docs/guides/pitfalls.md
"""

from collections.abc import Mapping
from dataclasses import dataclass

from danlu.job.job import Job
from danlu.job.state import JobState
from danlu.job.status import Failure
from danlu.messages import get_message_in
from danlu.service.diagnosis import arguments as card_arguments
from danlu.service.diagnosis import code as card_code
from danlu.service.diagnosis import exits as card_ends
from danlu.service.diagnosis import paths as card_paths
from danlu.service.diagnosis import tensorflow as card_tensorflow
from danlu.service.diagnosis.hint_context import Match, case_of, is_only_stored_late

_MAX_HINT = 300


@dataclass(frozen=True)
class FailureHint:
    """A hint in both languages; ``code`` is stable."""

    code: str
    en: str
    zh: str


CARDS: Mapping[str, Match] = {
    "argument_both": card_arguments.argument_both,
    "argument_ours": card_arguments.argument_ours,
    "argument_hyperparameter": card_arguments.argument_hyperparameter,
    "argument_yours": card_arguments.argument_yours,
    "channel_missing": card_arguments.channel_missing,
    "argument_missing": card_arguments.argument_missing,
    "argument_value": card_arguments.argument_value,
    "flag_ours": card_arguments.flag_ours,
    "flag_yours": card_arguments.flag_yours,
    "option_ours": card_arguments.option_ours,
    "option_yours": card_arguments.option_yours,
    "module_moxing": card_code.module_moxing,
    "module_tensorflow": card_code.module_tensorflow,
    "module_tensorflow1": card_code.module_tensorflow1,
    "module_case": card_code.module_case,
    "module_in_code": card_code.module_in_code,
    "module_python2": card_code.module_python2,
    "module_npu": card_code.module_npu,
    "module_package": card_code.module_package,
    "module_unknown": card_code.module_unknown,
    "python2_syntax": card_code.python2_syntax,
    "python2_tabs": card_code.python2_tabs,
    "keyword_near": card_code.keyword_near,
    "python2_name": card_code.python2_name,
    "full_width": card_code.full_width,
    "variable_service": card_code.variable_service,
    "proxy_pop": card_code.proxy_pop,
    "tmp_own": card_paths.tmp_own,
    "path_of_channel": card_paths.path_of_channel,
    "path_url": card_paths.path_url,
    "path_scheme": card_paths.path_scheme,
    "path_empty": card_paths.path_empty,
    "path_bucket": card_paths.path_bucket,
    "path_input": card_paths.path_input,
    "path_bucket_unknown": card_paths.path_bucket_unknown,
    "input_gone": card_paths.input_gone,
    "export_exists": card_paths.export_exists,
    "folder_exists": card_paths.folder_exists,
    "denied_output": card_paths.denied_output,
    "denied_input": card_paths.denied_input,
    "denied_code": card_paths.denied_code,
    "denied_elsewhere": card_paths.denied_elsewhere,
    "checkpoint_key": card_tensorflow.checkpoint_key,
    "checkpoint_shape": card_tensorflow.checkpoint_shape,
    "checkpoint_none": card_tensorflow.checkpoint_none,
    "checkpoint_folder": card_tensorflow.checkpoint_folder,
    "placeholder_not_fed": card_tensorflow.placeholder_not_fed,
    "placeholder_shape": card_tensorflow.placeholder_shape,
    "variable_unset": card_tensorflow.variable_unset,
    "label_range": card_tensorflow.label_range,
    "loss_no_number": card_tensorflow.loss_no_number,
    "inputs_list": card_tensorflow.inputs_list,
    "shapes": card_tensorflow.shapes,
    "records_broken": card_tensorflow.records_broken,
    "picture_broken": card_tensorflow.picture_broken,
    "data_file": card_tensorflow.data_file,
    "out_of_memory": card_ends.out_of_memory,
    "disk_full_shm": card_ends.disk_full_shm,
    "disk_full_cache": card_ends.disk_full_cache,
    "disk_full": card_ends.disk_full,
    "too_many_processes": card_ends.too_many_processes,
    "exit_137": card_ends.exit_137,
    "exit_139": card_ends.exit_139,
    "exit_247": card_ends.exit_247,
    "proxy_between_nodes": card_ends.proxy_between_nodes,
    "nodes_wait": card_ends.nodes_wait,
    "url_folder": card_paths.url_folder,
    "nothing_written": card_ends.nothing_written,
}


def find_hint(job: Job, failure: Failure | None) -> FailureHint | None:
    """Return the hint for a failed or succeeded job; None if no known pitfall matches."""
    if job.state not in (JobState.FAILED, JobState.SUCCEEDED):
        return None
    if is_only_stored_late(job, failure):
        return None
    case = case_of(job, failure)
    for code, match in CARDS.items():
        found = match(case)
        if found is not None:
            values = {name: _shown(value) for name, value in found.items()}
            variant = values.pop("variant", "")
            key = f"card.{code}.{variant}" if variant else f"card.{code}"
            return FailureHint(
                code=code,
                en=get_message_in("en", key, **values),
                zh=get_message_in("zh", key, **values),
            )
    return None


def _shown(value: object) -> object:
    """Return a value without control characters, at most ``_MAX_HINT`` characters long.

    Names, paths and messages come from a script and must not control the terminal.
    """
    if not isinstance(value, str):
        return value
    plain = "".join(c if c.isprintable() else "\ufffd" for c in value)
    return plain if len(plain) <= _MAX_HINT else plain[: _MAX_HINT - 1] + "…"
