"""Softmax regression in plain Python: one row of weights for each kind, the last one its bias."""

import csv
import math

FEATURES = 4


def read(path):
    """Return pairs of kind and measures."""
    with open(path, newline="") as file:
        return [(kind, [float(text) for text in sizes]) for kind, *sizes in csv.reader(file)]


def zeros(kinds):
    return {kind: [0.0] * (FEATURES + 1) for kind in kinds}


def chances(weights, sizes):
    """Return how likely each kind is."""
    scores = {
        kind: row[-1] + sum(weight * size for weight, size in zip(row[:-1], sizes, strict=True))
        for kind, row in weights.items()
    }
    highest = max(scores.values())
    powers = {kind: math.exp(score - highest) for kind, score in scores.items()}
    total = sum(powers.values())
    return {kind: power / total for kind, power in powers.items()}


def learn(weights, flowers, rate):
    """Take one step down the slope of the mean loss; return the loss before it."""
    slopes = zeros(weights)
    loss = 0.0
    for kind, sizes in flowers:
        found = chances(weights, sizes)
        loss -= math.log(found[kind])
        for other, chance in found.items():
            error = chance - (other == kind)
            for index, size in enumerate([*sizes, 1.0]):
                slopes[other][index] += error * size
    for kind, row in weights.items():
        for index, slope in enumerate(slopes[kind]):
            row[index] -= rate * slope / len(flowers)
    return loss / len(flowers)


def accuracy(weights, flowers):
    right = 0
    for kind, sizes in flowers:
        found = chances(weights, sizes)
        right += max(found, key=found.get) == kind
    return right / len(flowers)
