"""`tf.contrib.summary`: summaries that write themselves when they run.

In a graph their ops are in `all_summary_ops()`: run them with the step, after the writer was
initialised. They are recorded within `always_record_summaries` and the like.
"""

from tensorflow.python.ops import summary_ops_v2

__all__ = [
    "SummaryWriter",
    "all_summary_ops",
    "always_record_summaries",
    "audio",
    "create_file_writer",
    "create_summary_file_writer",
    "eval_dir",
    "flush",
    "generic",
    "graph",
    "histogram",
    "image",
    "import_event",
    "initialize",
    "never_record_summaries",
    "record_summaries_every_n_global_steps",
    "scalar",
    "should_record_summaries",
    "summary_writer_initializer_op",
]

SummaryWriter = summary_ops_v2.SummaryWriter
all_summary_ops = summary_ops_v2.all_v2_summary_ops
always_record_summaries = summary_ops_v2.always_record_summaries
audio = summary_ops_v2.audio
create_file_writer = summary_ops_v2.create_file_writer
create_summary_file_writer = summary_ops_v2.create_summary_file_writer
eval_dir = summary_ops_v2.eval_dir
flush = summary_ops_v2.legacy_raw_flush
generic = summary_ops_v2.generic
graph = summary_ops_v2.graph_v1
histogram = summary_ops_v2.histogram
image = summary_ops_v2.image
import_event = summary_ops_v2.import_event
initialize = summary_ops_v2.initialize
never_record_summaries = summary_ops_v2.never_record_summaries
record_summaries_every_n_global_steps = summary_ops_v2.record_summaries_every_n_global_steps
scalar = summary_ops_v2.scalar
should_record_summaries = summary_ops_v2._legacy_contrib_should_record_summaries
summary_writer_initializer_op = summary_ops_v2.summary_writer_initializer_op

GONE = {"create_db_writer": "Write event files with create_file_writer; TensorBoard reads them."}
