"""Circles and bars in folders, in the manner of MoXing's manual: trained, exported, predicted."""

import tensorflow as tf

import moxing.tensorflow as mox

slim = tf.contrib.slim

tf.flags.DEFINE_string("data_url", "", "Folder of pictures")
tf.flags.DEFINE_string("train_url", "", "Where checkpoints and the model go")
tf.flags.DEFINE_string("result_url", "", "Where predictions go")
tf.flags.DEFINE_integer("batch_size", 16, "")
tf.flags.DEFINE_integer("max_number_of_steps", 60, "")
flags = tf.flags.FLAGS

SIZE = 24


def input_fn(mode, **kwargs):
    meta = mox.ImageClassificationRawMetadata(base_dir=flags.data_url)
    dataset = mox.ImageClassificationRawDataset(meta, shuffle=(mode == mox.ModeKeys.TRAIN))
    image, label = dataset.get(["image", "label"])
    image = tf.expand_dims(tf.to_float(image), 0)
    image = tf.image.resize_bilinear(image, [SIZE, SIZE])
    image = tf.squeeze(image, 0)
    image.set_shape([SIZE, SIZE, 3])
    return image, label


def model_fn(inputs, mode, **kwargs):
    images, labels = inputs
    is_training = mode == mox.ModeKeys.TRAIN
    net = images / 255.0 - 0.5
    with slim.arg_scope(
        [slim.conv2d],
        normalizer_fn=slim.batch_norm,
        normalizer_params={"is_training": is_training, "decay": 0.8},
    ):
        net = slim.conv2d(net, 8, [3, 3], stride=2)
        net = slim.conv2d(net, 8, [3, 3], stride=2)
    net = slim.flatten(net)
    logits = slim.fully_connected(
        net, 2, activation_fn=None, weights_regularizer=slim.l2_regularizer(1e-4)
    )
    loss = tf.losses.softmax_cross_entropy(
        logits=logits, onehot_labels=slim.one_hot_encoding(labels, 2)
    )
    loss += tf.add_n(mox.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.float32))
    hook = mox.LogEvaluationMetricHook(
        monitor_info={"accuracy": accuracy},
        batch_size=flags.batch_size,
        samples_in_train=320,
        samples_in_eval=64,
        evaluate_every_n_epochs=1,
    )
    return mox.ModelSpec(
        loss=loss,
        log_info={"loss": loss, "accuracy": accuracy},
        output_info={"prediction": tf.argmax(logits, 1)},
        export_spec=mox.ExportSpec(
            inputs_dict={"images": images}, outputs_dict={"logits": logits}, version="model"
        ),
        hooks=[hook],
    )


def output_fn(outputs):
    with mox.file.File(flags.result_url, "w") as f:
        for step in outputs:
            f.write(",".join(str(n) for n in step["prediction"]) + "\n")


if __name__ == "__main__":
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("momentum", learning_rate=0.05, momentum=0.9),
        batch_size=flags.batch_size,
        run_mode=mox.ModeKeys.TRAIN,
        inter_mode=mox.ModeKeys.EVAL,
        max_number_of_steps=flags.max_number_of_steps,
        log_dir=flags.train_url,
        save_summary_steps=20,
        export_model=mox.ExportKeys.TF_SERVING,
    )
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        output_fn=output_fn,
        output_every_n_steps=4,
        batch_size=flags.batch_size,
        run_mode=mox.ModeKeys.PREDICT,
        max_number_of_steps=4,
        checkpoint_path=flags.train_url,
    )
