"""Every flag of MoXing, with its type, its default and what it does.

The reference page docs/reference/moxing-flags.md is written from this table.
"""

from dataclasses import dataclass

Value = bool | int | float | str


@dataclass(frozen=True)
class Flag:
    """``agreed`` are values of a flag that is not used which ask for what is done anyway."""

    name: str
    default: Value
    help: str
    used: bool = True
    agreed: tuple[Value, ...] = ()

    @property
    def type(self) -> type[Value]:
        return type(self.default)


def _unused(name: str, default: Value, help: str, *agreed: Value) -> Flag:
    return Flag(name, default, help, used=False, agreed=(default, *agreed))


PLACES = (
    Flag("num_gpus", 1, "GPUs of this process: model_fn is built once for each."),
    Flag("clone_on_cpu", False, "Build every clone on the CPU."),
    Flag("strict_gpus", False, "Fail where there are fewer GPUs than num_gpus asks for."),
    Flag("num_inter_threads", 0, "Operations that run side by side; 0: TensorFlow decides."),
    Flag("num_intra_threads", 0, "Threads of one operation; 0: TensorFlow decides."),
    _unused("num_prefetch_threads", 0, "Threads that prefetch: tf.data decides."),
)

CLUSTER = (
    Flag("job_name", "", "What this process is: ps or worker. Empty: one process, no cluster."),
    Flag("task_index", 0, "Which of its kind this process is; worker 0 is the chief."),
    Flag("ps_hosts", "", "Addresses of the parameter servers: host:port, with commas between."),
    Flag("worker_hosts", "", "Addresses of the workers: host:port, with commas between."),
    Flag("sync_replicas", True, "One step is one update from all workers together."),
    Flag("chief_inc_global_step", False, "Only the chief counts the global step."),
    Flag("sync_before_server", False, "Wait for every process before the server starts."),
    Flag("session_timeout", 0, "Seconds to wait for the others at the start; 0: no end."),
    _unused("controller_host", "", "Address of the controller of an all-reduce."),
    _unused(
        "variable_update",
        "auto",
        "How variables are shared: as parameter_server in a cluster, between clones otherwise.",
        *("parameter_server", "replicated"),
    ),
    _unused("warmup_steps", 50, "Length of a trial of variable_update; there are no trials.", 0),
    _unused("local_parameter_device", "cpu", "Device of the variables of a process."),
    _unused("server_protocol", "grpc", "Protocol between the processes: grpc."),
    _unused("dgc_sparsity_strategy", "", "Share of a gradient that is held back, epoch by epoch."),
    _unused("dgc_momentum_type", "", "Momentum of gradients that are held back."),
    _unused("dgc_momentum", 0.0, "Its factor."),
    _unused("dgc_momentum_factor_masking", False, "Whether it is masked."),
    _unused("dgc_total_samples", 0, "Samples of an epoch of the strategy."),
    _unused("min_size_in_kb", 0, "Smallest variable of distributed_replicated_mix."),
    _unused("var_space_starter", 0, "First variable of distributed_replicated_mix."),
    _unused("var_mix_offset", 0, "Offset of distributed_replicated_mix."),
)

TRAINING = (
    Flag("log_first_clone", True, "Show log_info of the first clone; False: the mean of all."),
    Flag("loss_scale", 1.0, "The loss is multiplied by it, the gradients divided; 1: neither."),
    Flag("use_fp16", False, "Compute in float16, and keep the variables in float32."),
    Flag(
        "var_dtype", "", "Type of the variables of model_fn, whatever it computes in: fp32, fp16."
    ),
    Flag("gradient_clip_type", "", "How gradients are clipped: norm or value."),
    Flag("gradient_clip", 0.0, "The bound they are clipped to; 0: none."),
    Flag(
        "trainable_include_patterns",
        "",
        "Train variables whose names have one of these in them, with commas between. Empty: all.",
    ),
    Flag("trainable_exclude_patterns", "", "Do not train variables with one of these."),
)

CHECKPOINTS = (
    Flag(
        "checkpoint_include_patterns",
        "",
        "Read variables whose names have one of these in them from checkpoint_path. Empty: all.",
    ),
    Flag("checkpoint_exclude_patterns", "", "Do not read variables with one of these."),
)

OTHERS = (
    _unused("running_log_level", 0, "How much is said; tf.logging.set_verbosity decides."),
    _unused("rank", 0, "Of MoXing for PyTorch: which process this is."),
    _unused("world_size", 1, "Of MoXing for PyTorch: how many processes there are."),
    _unused("init_method", "", "Of MoXing for PyTorch: where they meet."),
)

GROUPS: dict[str, tuple[Flag, ...]] = {
    "devices": PLACES,
    "cluster": CLUSTER,
    "training": TRAINING,
    "checkpoints": CHECKPOINTS,
    "others": OTHERS,
}
