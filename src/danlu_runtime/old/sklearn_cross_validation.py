"""``sklearn.cross_validation`` of scikit-learn 0.17: splitters with the length of their data."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.model_selection import (
    check_cv,
    cross_val_predict,
    cross_val_score,
    permutation_test_score,
    train_test_split,
)

__all__ = [
    "KFold",
    "LeaveOneOut",
    "LeavePOut",
    "ShuffleSplit",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "check_cv",
    "cross_val_predict",
    "cross_val_score",
    "permutation_test_score",
    "train_test_split",
]


class _Splits:
    """A current splitter bound to its data; iteration yields pairs of index arrays."""

    def __init__(self, splitter: Any, n: int, y: Any = None) -> None:
        self._splitter, self.n, self._y = splitter, n, y

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._splitter.split(np.zeros(self.n), self._y))

    def __len__(self) -> int:
        return int(self._splitter.get_n_splits(np.zeros(self.n), self._y))


class KFold(_Splits):
    def __init__(
        self, n: int, n_folds: int = 3, shuffle: bool = False, random_state: Any = None
    ) -> None:
        state = random_state if shuffle else None
        super().__init__(model_selection.KFold(n_folds, shuffle=shuffle, random_state=state), n)


class StratifiedKFold(_Splits):
    def __init__(
        self, y: Any, n_folds: int = 3, shuffle: bool = False, random_state: Any = None
    ) -> None:
        state = random_state if shuffle else None
        splitter = model_selection.StratifiedKFold(n_folds, shuffle=shuffle, random_state=state)
        super().__init__(splitter, len(y), y)


class ShuffleSplit(_Splits):
    def __init__(
        self,
        n: int,
        n_iter: int = 10,
        test_size: Any = 0.1,
        train_size: Any = None,
        random_state: Any = None,
    ) -> None:
        splitter = model_selection.ShuffleSplit(
            n_iter, test_size=test_size, train_size=train_size, random_state=random_state
        )
        super().__init__(splitter, n)


class StratifiedShuffleSplit(_Splits):
    def __init__(
        self,
        y: Any,
        n_iter: int = 10,
        test_size: Any = 0.1,
        train_size: Any = None,
        random_state: Any = None,
    ) -> None:
        splitter = model_selection.StratifiedShuffleSplit(
            n_iter, test_size=test_size, train_size=train_size, random_state=random_state
        )
        super().__init__(splitter, len(y), y)


class LeaveOneOut(_Splits):
    def __init__(self, n: int) -> None:
        super().__init__(model_selection.LeaveOneOut(), n)


class LeavePOut(_Splits):
    def __init__(self, n: int, p: int) -> None:
        super().__init__(model_selection.LeavePOut(p), n)
