"""One layer with softmax, in plain Python."""

import math


class Network:
    def __init__(self, inputs, classes):
        self.weights = [[0.0] * (inputs + 1) for _ in range(classes)]

    def scores(self, x):
        logits = [
            sum(w * v for w, v in zip(row, x, strict=False)) + row[-1] for row in self.weights
        ]
        largest = max(logits)
        powers = [math.exp(logit - largest) for logit in logits]
        total = sum(powers)
        return [power / total for power in powers]

    def guess(self, x):
        scores = self.scores(x)
        return scores.index(max(scores))

    def learn(self, batch, rate):
        """Take one step of gradient descent; return the mean cross entropy before it."""
        loss = 0.0
        slopes = [[0.0] * len(row) for row in self.weights]
        for label, x in batch:
            scores = self.scores(x)
            loss -= math.log(max(scores[label], 1e-12))
            for at, score in enumerate(scores):
                error = (score - (at == label)) / len(batch)
                row = slopes[at]
                for i, value in enumerate(x):
                    row[i] += error * value
                row[-1] += error
        for row, slope in zip(self.weights, slopes, strict=True):
            for i, value in enumerate(slope):
                row[i] -= rate * value
        return loss / len(batch)
