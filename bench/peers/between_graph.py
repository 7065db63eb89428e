"""Two parameter servers and two workers as TensorFlow's tutorial starts them; started by hand.

Each worker leaves a file with the moment of its first step in ``--moments``.
"""

import argparse
import os
import time

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
parser = argparse.ArgumentParser()
for name in ("job_name", "ps_hosts", "worker_hosts", "moments", "train_url"):
    parser.add_argument(f"--{name}", default="")
parser.add_argument("--task_index", type=int, default=0)
given, _ = parser.parse_known_args()

cluster = tf.train.ClusterSpec(
    {"ps": given.ps_hosts.split(","), "worker": given.worker_hosts.split(",")}
)
server = tf.train.Server(cluster, job_name=given.job_name, task_index=given.task_index)
if given.job_name == "ps":
    server.join()
own = f"/job:worker/task:{given.task_index}"
with tf.device(tf.train.replica_device_setter(worker_device=own, cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    weights = tf.get_variable("weights", [784, 10])
    loss = tf.reduce_mean(tf.square(tf.random_uniform([32, 784]) @ weights))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
with tf.train.MonitoredTrainingSession(server.target, given.task_index == 0) as session:
    session.run(train)
    mark = os.path.join(given.moments, f"worker-{given.task_index}")
    with open(mark + ".new", "w") as file:
        file.write(repr(time.time()))
    os.replace(mark + ".new", mark)
    while len([name for name in os.listdir(given.moments) if "." not in name]) < 2:
        session.run(train)  # the chief stays until the other has begun
        time.sleep(0.05)
