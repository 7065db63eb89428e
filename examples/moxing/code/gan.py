"""Two networks against each other, each with its loss, its scope and its optimizer."""

import tensorflow as tf

import moxing.tensorflow as mox

BATCH = 32


def input_fn(run_mode, **kwargs):
    return tf.random_normal([BATCH, 1], mean=4.0, stddev=0.5)


def generator(z, reuse=False):
    with tf.variable_scope("generator", reuse=reuse):
        return tf.layers.dense(z, 1, bias_initializer=tf.zeros_initializer())


def discriminator(x, reuse=False):
    with tf.variable_scope("discriminator", reuse=reuse):
        hidden = tf.layers.dense(x, 16, tf.nn.relu)
        return tf.layers.dense(hidden, 1)


def cross_entropy(logits, like):
    return tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=like(logits))
    )


def model_fn(inputs, run_mode, **kwargs):
    real = inputs[0]
    made = generator(tf.random_normal([BATCH, 2]))
    of_real, of_made = discriminator(real), discriminator(made, reuse=True)
    d_loss = cross_entropy(of_real, tf.ones_like) + cross_entropy(of_made, tf.zeros_like)
    g_loss = cross_entropy(of_made, tf.ones_like)
    tf.summary.histogram("made", made)
    return mox.ModelSpec(
        loss=[d_loss, g_loss],
        var_scopes=[["discriminator"], ["generator"]],
        log_info={"D_loss": d_loss, "G_loss": g_loss, "mean": tf.reduce_mean(made)},
    )


if __name__ == "__main__":
    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=[
            mox.get_optimizer_fn(name="adam", learning_rate=0.01, beta1=0.5),
            mox.get_optimizer_fn(name="adam", learning_rate=0.01, beta1=0.5),
        ],
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=BATCH,
        auto_batch=False,
        log_dir="obs://models/gan",
        max_number_of_steps=401,
        log_every_n_steps=100,
    )
