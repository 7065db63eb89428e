"""A network of the zoo in half precision, with large batches: LARS over several batches each."""

import tensorflow as tf

import moxing.tensorflow as mox

slim = tf.contrib.slim

tf.flags.DEFINE_string("data_url", "", "Folder of pictures")
tf.flags.DEFINE_string("train_url", "", "Where checkpoints and the model go")
tf.flags.DEFINE_integer("batch_size", 16, "")
tf.flags.DEFINE_float("learning_rate", 0.3, "")
tf.flags.DEFINE_integer("max_number_of_steps", 71, "")
flags = tf.flags.FLAGS

SIZE, BATCHES = 32, 2


def input_fn(mode, **kwargs):
    meta = mox.ImageClassificationRawMetadata(base_dir=flags.data_url)
    dataset = mox.ImageClassificationRawDataset(meta, shuffle=True)
    image, label = dataset.get(["image", "label"])
    augment = mox.get_data_augmentation_fn("cifarnet", mode, output_height=SIZE, output_width=SIZE)
    return augment(image), label


def model_fn(inputs, mode, **kwargs):
    images, labels = inputs
    model = mox.get_model_fn(name="cifarnet", run_mode=mode, num_classes=2, weight_decay=1e-4)
    # Values in half precision, variables in whole: small gradients are not lost.
    with mox.var_scope(force_dtype=tf.float32):
        logits, _ = model(tf.cast(images, tf.float16))
    logits = tf.to_float(logits)
    loss = tf.losses.softmax_cross_entropy(
        logits=logits, onehot_labels=slim.one_hot_encoding(labels, 2)
    )
    accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.float32))
    return mox.ModelSpec(loss=loss, log_info={"loss": loss, "accuracy": accuracy})


def optimizer_fn():
    opt = mox.get_optimizer_fn("momentum", learning_rate=flags.learning_rate, momentum=0.9)()
    opt = mox.get_optimizer_wrapper_fn("lars", opt, ratio=0.02, weight_decay=1e-4)()
    return mox.get_optimizer_wrapper_fn("batch_gradients", opt, num_batches=BATCHES)()


if __name__ == "__main__":
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=optimizer_fn,
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=flags.batch_size,
        max_number_of_steps=flags.max_number_of_steps,
        log_dir=flags.train_url,
        log_every_n_steps=10,
    )
