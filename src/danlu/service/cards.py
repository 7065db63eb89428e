"""Pitfalls the services' documents describe, each with its cure: what follows the cause.

A card is recognised from the structured record of the failure together with the plan, never by
searching the log. Of several that fit, the first of the table is shown: put the narrower above.
The sentence of a card is ``card.<code>`` in the catalogue.

Contract: docs/guides/pitfalls.md
"""

from collections.abc import Mapping
from dataclasses import dataclass

from danlu.job.job import Job
from danlu.job.state import JobState
from danlu.job.status import Failure
from danlu.service import card_arguments, card_code, card_ends, card_paths, card_tensorflow
from danlu.service.card_case import Match, case_of
from danlu.words import say_in

_LONGEST = 300


@dataclass(frozen=True)
class Card:
    """``code`` is stable."""

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
    "path_of_channel": card_paths.path_of_channel,
    "path_url": card_paths.path_url,
    "path_scheme": card_paths.path_scheme,
    "path_empty": card_paths.path_empty,
    "path_bucket": card_paths.path_bucket,
    "path_input": card_paths.path_input,
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
    "shapes": card_tensorflow.shapes,
    "records_broken": card_tensorflow.records_broken,
    "picture_broken": card_tensorflow.picture_broken,
    "data_file": card_tensorflow.data_file,
    "out_of_memory": card_ends.out_of_memory,
    "disk_full_cache": card_ends.disk_full_cache,
    "disk_full": card_ends.disk_full,
    "too_many_processes": card_ends.too_many_processes,
    "exit_137": card_ends.exit_137,
    "exit_139": card_ends.exit_139,
    "exit_247": card_ends.exit_247,
    "proxy_between_nodes": card_ends.proxy_between_nodes,
    "nodes_wait": card_ends.nodes_wait,
    "nothing_written": card_ends.nothing_written,
}


def card_of(job: Job, failure: Failure | None) -> Card | None:
    """Return the card for an ended job; None where no pitfall is known by its signs."""
    if job.state not in (JobState.FAILED, JobState.SUCCEEDED):
        return None
    case = case_of(job, failure)
    for code, match in CARDS.items():
        found = match(case)
        if found is not None:
            values = {name: _shown(value) for name, value in found.items()}
            return Card(
                code=code,
                en=say_in("en", f"card.{code}", **values),
                zh=say_in("zh", f"card.{code}", **values),
            )
    return None


def _shown(value: object) -> object:
    """Names, paths and messages come from a script: nothing of them may steer a terminal."""
    if not isinstance(value, str):
        return value
    plain = "".join(c if c.isprintable() else "\ufffd" for c in value)
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
