"""The tables of docs/reference/moxing-flags.md, in both languages.

Run it to write them anew: ``python tests/moxing/tensorflow/flag_pages.py``.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from moxing.tensorflow.utils.hyper_param_flags import GROUPS, Flag

PAGES = Path(__file__).parents[3] / "docs" / "reference"
NAMES = {"en": "moxing-flags.md", "zh": "moxing-flags.zh-CN.md"}
TYPES = {
    "en": {bool: "boolean", int: "whole number", float: "number", str: "text"},
    "zh": {bool: "布尔", int: "整数", float: "数", str: "文本"},
}
EMPTY = {"en": "empty", "zh": "空"}
HEADS = {
    "en": "| flag | type | default | meaning |",
    "zh": "| 参数 | 类型 | 默认值 | 含义 |",
}
UNUSED = {"en": " Accepted, not used.", "zh": "接受，不使用。"}
CHINESE = {
    "num_gpus": "本进程的 GPU 数：model_fn 为每个 GPU 各建一次。",
    "clone_on_cpu": "所有副本都建在 CPU 上。",
    "strict_gpus": "GPU 少于 num_gpus 所要的就失败。",
    "num_inter_threads": "同时运行的算子数；0：由 TensorFlow 决定。",
    "num_intra_threads": "一个算子的线程数；0：由 TensorFlow 决定。",
    "num_prefetch_threads": "预取的线程数：由 tf.data 决定。",
    "job_name": "本进程是什么：ps 或 worker。空：只有一个进程，没有集群。",
    "task_index": "本进程是同类中的第几个；worker 0 是 chief。",
    "ps_hosts": "参数服务器的地址：host:port，以逗号分隔。",
    "worker_hosts": "worker 的地址：host:port，以逗号分隔。",
    "sync_replicas": "一步就是所有 worker 共同的一次更新。",
    "chief_inc_global_step": "只有 chief 计全局步数。",
    "sync_before_server": "所有进程都到齐后才启动服务端。",
    "session_timeout": "开始时等待其他进程的秒数；0：一直等。",
    "controller_host": "all-reduce 的控制进程的地址。",
    "variable_update": "变量怎样共享：集群里同 parameter_server，否则在副本之间共享。",
    "warmup_steps": "variable_update 每次试运行的长度；没有试运行。",
    "local_parameter_device": "一个进程的变量所在的设备。",
    "server_protocol": "进程之间的协议：grpc。",
    "dgc_sparsity_strategy": "每个 epoch 暂不发送的梯度的比例。",
    "dgc_momentum_type": "暂不发送的梯度的动量。",
    "dgc_momentum": "该动量的系数。",
    "dgc_momentum_factor_masking": "该动量是否被遮蔽。",
    "dgc_total_samples": "该策略中一个 epoch 的样本数。",
    "min_size_in_kb": "distributed_replicated_mix 中最小的变量。",
    "var_space_starter": "distributed_replicated_mix 中的第一个变量。",
    "var_mix_offset": "distributed_replicated_mix 的偏移。",
    "log_first_clone": "显示第一个副本的 log_info；False：所有副本的平均。",
    "loss_scale": "损失乘以它，梯度再除以它；1：都不做。",
    "use_fp16": "用 float16 计算，变量以 float32 保存。",
    "var_dtype": "model_fn 的变量的类型，不论它用什么类型计算：fp32、fp16。",
    "gradient_clip_type": "怎样裁剪梯度：norm 或 value。",
    "gradient_clip": "裁剪到的界限；0：不裁剪。",
    "trainable_include_patterns": "只训练名字中含有其中之一的变量，以逗号分隔。空：全部。",
    "trainable_exclude_patterns": "不训练含有其中之一的变量。",
    "checkpoint_include_patterns": "从 checkpoint_path 只读取名字中含有其中之一的变量。空：全部。",
    "checkpoint_exclude_patterns": "不读取含有其中之一的变量。",
    "running_log_level": "说多少；由 tf.logging.set_verbosity 决定。",
    "rank": "MoXing 的 PyTorch 部分：本进程是第几个。",
    "world_size": "MoXing 的 PyTorch 部分：一共有几个进程。",
    "init_method": "MoXing 的 PyTorch 部分：它们在哪里会合。",
}


def tables(lang: str) -> list[str]:
    """Return the table of each group, in the order of the page's sections."""
    return ["\n".join(_table(flags, lang)) for flags in GROUPS.values()]


def _table(flags: tuple[Flag, ...], lang: str) -> Iterator[str]:
    yield HEADS[lang]
    yield "|---|---|---|---|"
    for flag in flags:
        default = f"`{flag.default}`" if flag.default != "" else EMPTY[lang]
        meaning = flag.help if lang == "en" else CHINESE[flag.name]
        meaning += "" if flag.used else UNUSED[lang]
        yield f"| `--{flag.name}` | {TYPES[lang][flag.type]} | {default} | {meaning} |"


def shown(lang: str) -> list[str]:
    """Return the tables that are in the page."""
    text = (PAGES / NAMES[lang]).read_text(encoding="utf-8")
    return [found.rstrip("\n") for found in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]


def main() -> None:
    for lang, name in NAMES.items():
        page = PAGES / name
        text = page.read_text(encoding="utf-8")
        for old, new in zip(shown(lang), tables(lang), strict=True):
            text = text.replace(old, new, 1)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
