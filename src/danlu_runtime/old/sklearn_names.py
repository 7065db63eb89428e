"""Names of scikit-learn before 0.20 to 1.2, in modules that still exist."""

from __future__ import annotations

from typing import Any

from danlu_runtime.old import sklearn_arguments
from danlu_runtime.old.names import put_back, refusing

_MLDATA, _BOSTON = "sklearn.fetch_mldata", "sklearn.load_boston"


def restore_preprocessing(module: Any) -> None:
    put_back(module, {"Imputer": _imputer})
    sklearn_arguments.accept_sparse(module.OneHotEncoder)


def restore_linear_model(module: Any) -> None:
    sklearn_arguments.accept_l1(module.LogisticRegression)


def restore_cluster(module: Any) -> None:
    sklearn_arguments.drop_jobs(module.KMeans)


def restore_datasets(module: Any) -> None:
    names = {"fetch_mldata": refusing("fetch_mldata", _MLDATA)}
    names["load_boston"] = refusing("load_boston", _BOSTON)
    # scikit-learn >= 1.2 has a __getattr__ that rejects load_boston. This one comes first.
    put_back(module, names)


def restore_metrics(module: Any) -> None:
    put_back(module, {"jaccard_similarity_score": lambda: module.accuracy_score})


def _imputer() -> Any:
    import numpy as np
    from sklearn.impute import SimpleImputer

    class Imputer(SimpleImputer):
        """Fills in missing values along columns (axis 0), as before scikit-learn 0.22."""

        def __init__(
            self,
            missing_values: Any = "NaN",
            strategy: str = "mean",
            axis: int = 0,
            verbose: int = 0,
            copy: bool = True,
        ) -> None:
            if axis != 0:
                raise ValueError(f"Imputer fills in along columns (axis=0) only, got axis={axis}.")
            missing = np.nan if missing_values in ("NaN", "nan") else missing_values
            super().__init__(missing_values=missing, strategy=strategy, copy=copy)
            self.axis, self.verbose = axis, verbose

    return Imputer
