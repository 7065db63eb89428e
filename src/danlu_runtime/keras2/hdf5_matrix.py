"""``keras.utils.HDF5Matrix``: a part of a data set in an HDF5 file, read batch by batch."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np


class HDF5Matrix:
    """An array in an HDF5 file; only the requested rows are read."""

    refs: ClassVar[dict[str, Any]] = defaultdict(int)  # files stay open, as in Keras

    def __init__(
        self,
        datapath: str,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
    ) -> None:
        import h5py

        if datapath not in self.refs:
            self.refs[datapath] = h5py.File(datapath, "r")
        self.data = self.refs[datapath][dataset]
        self.start = start
        self.end = self.data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return int(self.end - self.start)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            first, last, step = key.indices(len(self))
            rows = self.data[self.start + first : self.start + last : step]
        elif isinstance(key, int | np.integer):
            rows = self.data[self._row(int(key))]
        else:
            rows = self._rows(key)
        return self.normalizer(rows) if self.normalizer is not None else rows

    def _rows(self, key: Any) -> Any:
        """Return rows in the requested order; h5py needs increasing indices."""
        wanted = np.asarray([self._row(int(index)) for index in key])
        sorted_rows, places = np.unique(wanted, return_inverse=True)
        return self.data[list(sorted_rows)][places]

    def _row(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"Row {index} is outside of the {len(self)} rows of this HDF5Matrix.")
        return self.start + index % len(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.data.shape[1:])

    @property
    def dtype(self) -> Any:
        return self[0:1].dtype if len(self) else self.data.dtype

    @property
    def ndim(self) -> int:
        return int(self.data.ndim)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self[:], dtype=dtype)

    @staticmethod
    def get_address(array: Any) -> Any:
        return array
