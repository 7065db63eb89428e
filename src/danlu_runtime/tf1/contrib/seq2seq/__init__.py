"""tf.contrib.seq2seq: decoders, attention and beam search.

Written for the interface of TensorFlow 1.15, whose mechanisms take and return a state. The modules
have the names of ``tensorflow.contrib.seq2seq.python.ops``.
"""

from danlu_runtime.tf1.contrib.seq2seq.attention_wrapper import (
    AttentionMechanism,
    AttentionWrapper,
    AttentionWrapperState,
    BahdanauAttention,
    BahdanauMonotonicAttention,
    LuongAttention,
    LuongMonotonicAttention,
    hardmax,
    monotonic_attention,
    safe_cumprod,
)
from danlu_runtime.tf1.contrib.seq2seq.basic_decoder import BasicDecoder, BasicDecoderOutput
from danlu_runtime.tf1.contrib.seq2seq.beam_search_decoder import (
    BeamSearchDecoder,
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput,
    tile_batch,
)
from danlu_runtime.tf1.contrib.seq2seq.beam_search_ops import gather_tree
from danlu_runtime.tf1.contrib.seq2seq.decoder import Decoder, dynamic_decode
from danlu_runtime.tf1.contrib.seq2seq.helper import (
    CustomHelper,
    GreedyEmbeddingHelper,
    Helper,
    InferenceHelper,
    SampleEmbeddingHelper,
    ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper,
    TrainingHelper,
)
from danlu_runtime.tf1.contrib.seq2seq.loss import sequence_loss

_DECODER = "removed.decoder"
_ATTENTION = "removed.attention"
_CLASS = "removed.sequence_loss"
GONE = {
    "BahdanauAttentionV2": "removed.bahdanau",
    "LuongAttentionV2": "removed.luong",
    "DynamicAttentionWrapper": _ATTENTION,
    "SequenceLoss": _CLASS,
    "attention_decoder_fn_inference": _DECODER,
    "attention_decoder_fn_train": _DECODER,
    "dynamic_rnn_decoder": _DECODER,
    "prepare_attention": _ATTENTION,
    "simple_decoder_fn_inference": _DECODER,
    "simple_decoder_fn_train": _DECODER,
}
