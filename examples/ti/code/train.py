"""Tells irises apart, as a TI training script does it: channels, hyperparameters, a model.

The platform says where everything is by variables that begin with TM_; hyperparameters arrive as
arguments. A checkpoint in /opt/ml/checkpoints is taken up again after an interruption.
"""

import argparse
import json
import os

import softmax

CHECKPOINTS = "/opt/ml/checkpoints"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--model-dir", default=os.environ["TM_MODEL_DIR"])
    parser.add_argument("--train", default=os.environ["TM_CHANNEL_TRAIN"])
    parser.add_argument("--test", default=os.environ["TM_CHANNEL_TEST"])
    args, _ = parser.parse_known_args()
    print("hyperparameters", os.environ["TM_HPS"])

    flowers = softmax.read(os.path.join(args.train, "flowers.csv"))
    kinds = sorted({kind for kind, _ in flowers})
    checkpoint = os.path.join(CHECKPOINTS, "checkpoint.json")
    first, weights = 0, softmax.zeros(kinds)
    if os.path.exists(checkpoint):
        with open(checkpoint) as file:
            first, weights = json.load(file)
        print("goes on from epoch", first)

    for epoch in range(first, args.epochs):
        loss = softmax.learn(weights, flowers, args.learning_rate)
        if (epoch + 1) % 20 == 0:
            print(f"epoch {epoch + 1} loss {loss:.4f}", flush=True)
            with open(checkpoint + ".new", "w") as file:
                json.dump([epoch + 1, weights], file)
            os.replace(checkpoint + ".new", checkpoint)

    accuracy = softmax.accuracy(weights, softmax.read(os.path.join(args.test, "flowers.csv")))
    print(f"test accuracy {accuracy:.3f}")
    with open(os.path.join(args.model_dir, "weights.json"), "w") as file:
        json.dump(weights, file)
    with open(os.path.join(os.environ["TM_OUTPUT_DATA_DIR"], "metrics.json"), "w") as file:
        json.dump({"accuracy": accuracy}, file)


if __name__ == "__main__":
    main()
