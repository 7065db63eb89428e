"""Between-graph training as the TensorFlow 1 tutorial writes it: ps and workers by four flags."""

import tensorflow as tf
from pace import Pace

flags = tf.app.flags
flags.DEFINE_string("data_url", "", "")
flags.DEFINE_string("train_url", "", "")
flags.DEFINE_string("job_name", "", "ps or worker")
flags.DEFINE_integer("task_index", 0, "")
flags.DEFINE_string("ps_hosts", "", "")
flags.DEFINE_string("worker_hosts", "", "")
flags.DEFINE_integer("steps", 60, "")
flags.DEFINE_integer("interval", 10, "")
FLAGS = flags.FLAGS


def main(_):
    hosts = {"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")}
    cluster = tf.train.ClusterSpec(hosts)
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    own = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=own, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        weights = [tf.get_variable(f"w{n}", initializer=0.0) for n in range(3)]
        loss = tf.add_n([tf.square(w - 1.0) for w in weights])
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
    chief = FLAGS.task_index == 0
    with tf.train.MonitoredTrainingSession(
        master=server.target,
        is_chief=chief,
        checkpoint_dir=FLAGS.train_url,
        save_checkpoint_secs=None,
        save_checkpoint_steps=FLAGS.interval,
        save_summaries_steps=None,
        hooks=[Pace(chief), tf.train.StopAtStepHook(last_step=FLAGS.steps)],
    ) as session:
        while not session.should_stop():
            session.run(train)


if __name__ == "__main__":
    tf.app.run(main)
