"""`tf.contrib.quantize`: rewrote graphs for training with fake quantization; gone."""

__all__: list[str] = []

_AFTER = (
    "Train in float and quantize the exported model with tf.lite.TFLiteConverter "
    "(post-training quantization)."
)
GONE = {
    name: _AFTER
    for name in (
        "create_training_graph",
        "create_eval_graph",
        "experimental_create_training_graph",
        "experimental_create_eval_graph",
    )
}
