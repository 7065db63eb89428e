"""Kinds of problem a head solves; they choose the signature of an export."""


class ProblemType:
    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3
