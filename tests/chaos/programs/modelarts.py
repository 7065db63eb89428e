"""A monitored session that saves into train_url."""

import argparse

import tensorflow as tf
from ledger import Ledger, model

parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
args, _ = parser.parse_known_args()

weight, train_op = model()
hooks = [Ledger(weight), tf.train.StopAtStepHook(last_step=60)]
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=args.train_url, hooks=hooks, save_checkpoint_steps=10
) as session:
    while not session.should_stop():
        session.run(train_op)
