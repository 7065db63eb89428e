"""Preset models: networks that train without user code, and their parameters.

The terms are those of the DLS library. The program is part of MoXing (moxing.tensorflow.preset) and
uses this table to read its parameters too. The list of networks is data here, because the platform
never imports MoXing.
"""

import re
from collections.abc import Mapping
from typing import Any

from danlu.errors import find_similar, suggestion
from danlu.job.definitions import Constraint, Parameter, value_of
from danlu.messages import get_message

NAMES = (
    "alexnet_v2", "cifarnet", "inception_resnet_v2", "inception_v1", "inception_v2",
    "inception_v3", "inception_v4", "lenet", "mobilenet_v1", "mobilenet_v1_025",
    "mobilenet_v1_050", "mobilenet_v1_075", "mobilenet_v2", "mobilenet_v2_035",
    "mobilenet_v2_140", "nasnet_cifar", "nasnet_large", "nasnet_mobile", "overfeat",
    "pnasnet_large", "pnasnet_mobile", "resnet_v1_101", "resnet_v1_110", "resnet_v1_152",
    "resnet_v1_18", "resnet_v1_20", "resnet_v1_200", "resnet_v1_50", "resnet_v1_50_8k",
    "resnet_v2_101", "resnet_v2_152", "resnet_v2_200", "resnet_v2_50", "resnext_b_101",
    "resnext_b_50", "resnext_c_101", "resnext_c_50", "vgg_16", "vgg_16_bn", "vgg_19", "vgg_19_bn",
    "vgg_a", "vgg_a_bn", "xception_41", "xception_65", "xception_71",
)  # fmt: skip
_NOT_WRITTEN = "preset.not_written"
NOT_BUILT = {  # name and message key of the reason
    "pvanet": _NOT_WRITTEN,
    "resnet_v1_50_mox": "preset.never_published",
    "resnet_v1_50_oct": _NOT_WRITTEN,
}
# Flags of MoXing itself. A preset model accepts them, as every MoXing program does.
FLAGS = (
    "num_gpus", "clone_on_cpu", "strict_gpus", "num_inter_threads", "num_intra_threads",
    "num_prefetch_threads", "job_name", "task_index", "ps_hosts", "worker_hosts", "sync_replicas",
    "chief_inc_global_step", "sync_before_server", "session_timeout", "controller_host",
    "variable_update", "warmup_steps", "local_parameter_device", "server_protocol",
    "dgc_sparsity_strategy", "dgc_momentum_type", "dgc_momentum", "dgc_momentum_factor_masking",
    "dgc_total_samples", "min_size_in_kb", "var_space_starter", "var_mix_offset",
    "log_first_clone", "loss_scale", "use_fp16", "var_dtype", "gradient_clip_type",
    "gradient_clip", "trainable_include_patterns", "trainable_exclude_patterns",
    "checkpoint_include_patterns", "checkpoint_exclude_patterns", "running_log_level", "rank",
    "world_size", "init_method",
)  # fmt: skip
CHANNELS = ("data_url", "checkpoint_url", "train_url")
# The manual and its examples use both names.
SAME = {"max_epochs": "max_epoches", "learning_rate": "learning_rate_strategy"}

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_RATE = rf"\s*{_NUMBER}\s*"
_PIECE = rf"{_RATE}:{_RATE}(?:[-=]>{_RATE})?"
_STRATEGY = re.compile(rf"{_RATE}|{_PIECE}(?:,{_PIECE})*,?")
_MANY = "1000000000"


def _of(
    name: str, type: str, default: str | None, description: str, *between: str, choice: bool = False
) -> Parameter:
    kind = ("choice" if choice else "range") if between else ""
    return Parameter(name, description, Constraint(type, default, False, True, kind, between))


def _count(name: str, default: str | None, description: str, least: str = "1") -> Parameter:
    return _of(name, "Integer", default, description, least, _MANY)


def _choice(name: str, description: str, *choices: str) -> Parameter:
    return _of(name, "String", choices[0], description, *choices, choice=True)


PARAMETERS = (
    _choice("run_mode", "train, or evaluate checkpoint_url", "train", "eval"),
    _count("batch_size", "32", "samples of a step, on each card"),
    _count("eval_batch_size", None, "samples of a step of an evaluation; batch_size if left out"),
    _count("max_epoches", "100", "how often training sees all samples"),
    _count("max_number_of_steps", None, "steps instead of epochs"),
    _of("max_training_time", "Float", "10000", "hours after which training ends", "0", _MANY),
    _of("learning_rate_strategy", "String", "0.002", "a rate, or rates by epoch: 10:0.01,20:0.001"),
    _choice(
        *("optimizer", "what changes the variables"),
        *("momentum", "adam", "sgd", "rmsprop", "adagrad", "adadelta", "ftrl"),
    ),
    _of("weight_decay", "Float", "0.0001", "weight of the L2 loss of all weights", "0", _MANY),
    _of("split_spec", "String", "train:0.8,eval:0.2", "shares of a folder that is not split"),
    _count("samples_per_epoch", None, "samples to train on; counted if left out"),
    _count("samples_per_epoch_eval", None, "samples to evaluate on; counted if left out"),
    _count("num_classes", None, "classes, for TFRecord files without labels.txt"),
    _count("image_size", None, "height and width of the pictures; the network's own if left out"),
    _choice("data_format", "layout of the pictures while it trains", "NHWC", "NCHW"),
    _of("evaluate_every_n_epochs", "Float", "1", "epochs between evaluations", "0.001", _MANY),
    _count("patience", None, "evaluations without progress after which training ends"),
    _of("min_delta", "Float", "0", "what counts as progress", "0", _MANY),
    _choice("monitor", "what progress is measured by", "accuracy", "loss"),
    _of("skip_corrupted", "Boolean", "false", "leave out files that are no pictures"),
    _count("log_every_n_steps", "10", "steps between two lines", "0"),
    _count("save_summary_steps", "100", "steps between two points of a curve", "0"),
    _count("save_model_secs", "600", "seconds between two checkpoints", "0"),
    _of("export_model", "Boolean", "true", "write a model for TF-Serving at the end"),
)
_BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


def unknown(name: str) -> str:
    """Return the error message for an unknown preset model."""
    return get_message("preset.no_such", name=name, near=suggestion(name, NAMES))


def faults(given: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return a pair of parameter and sentence for each error. An empty value counts as not set."""
    found: list[tuple[str, str]] = []
    for name, text in given.items():
        parameter = _BY_NAME.get(SAME.get(name, name))
        if name in FLAGS or (parameter is not None and not text):
            continue
        if parameter is None:
            if similar := find_similar(name, [*_BY_NAME, *SAME, *FLAGS]):
                near = get_message("error.did_you_mean", name=similar)
            else:
                near = get_message("preset.parameters", names=", ".join(_BY_NAME))
            found.append((name, get_message("preset.no_parameter", near=near)))
        elif sentence := _fault(parameter, text):
            found.append((name, sentence))
    for other, name in SAME.items():
        if given.get(other) and given.get(name) and given[other] != given[name]:
            found.append((other, get_message("preset.same", name=name)))
    return found


def values(given: Mapping[str, str]) -> dict[str, Any]:
    """Return every parameter with its value or its default; None if it has neither."""
    written = {SAME.get(name, name): text for name, text in given.items() if text}
    return {
        name: _value(parameter.constraint, written.get(name))
        for name, parameter in _BY_NAME.items()
    }


def shares(text: str) -> dict[str, float] | None:
    """Return the shares of a text such as ``train:0.8,eval:0.2``, or None if it is invalid."""
    items = [item.split(":") for item in text.replace(" ", "").strip(",").split(",")]
    if any(len(item) != 2 or not re.fullmatch(_NUMBER, item[1]) for item in items):
        return None
    found = {name: float(share) for name, share in items}
    names = len(found) == len(items) and found.keys() <= {"train", "eval"} and "train" in found
    fits = 0 < found.get("train", 0) <= 1 and sum(found.values()) <= 1.005
    return found if names and fits else None


def _fault(parameter: Parameter, text: str) -> str:
    if not parameter.constraint.allows(text):
        expected = parameter.constraint.expected
        return get_message("fault.must_be", expected=expected, value=text)
    if parameter.name == "split_spec" and shares(text) is None:
        return get_message("preset.shares", text=text)
    if parameter.name == "learning_rate_strategy" and not _STRATEGY.fullmatch(text):
        return get_message("preset.rates", text=text)
    return ""


def _value(constraint: Constraint, text: str | None) -> Any:
    text = constraint.default if text is None else text
    if text is None:
        return None
    value = value_of(constraint.type, text)
    return value == "true" if constraint.type == "Boolean" else value
