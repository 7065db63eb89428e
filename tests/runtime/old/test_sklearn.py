"""Arguments scikit-learn has lost, in a script as a task runs it."""


def test_arguments_of_before(task):
    script = """
    import warnings; warnings.simplefilter('ignore')
    from sklearn.base import clone
    from sklearn.cluster import KMeans
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.utils.linear_assignment_ import linear_assignment
    encoder = OneHotEncoder(sparse=False)
    print(encoder.fit_transform([['a'], ['b']]).tolist(), clone(encoder).sparse_output)
    rows, labels = [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]], [0, 0, 1, 1]
    model = LogisticRegression(penalty='l1', C=10.0).fit(rows, labels)
    print(model.predict(rows).tolist(), clone(model).solver, LogisticRegression('l1').solver)
    print(LogisticRegression().solver, LogisticRegression(penalty='l1', solver='saga').solver)
    groups = KMeans(n_clusters=2, n_jobs=4, n_init=1, random_state=0).fit(rows)
    print(len(set(groups.labels_.tolist())), 'n_jobs' in groups.get_params())
    print(linear_assignment([[4, 1], [2, 8]]).tolist())
    """

    assert task.run(script).splitlines() == [
        "[[1.0, 0.0], [0.0, 1.0]] False",
        "[0, 0, 1, 1] liblinear liblinear",
        "lbfgs saga",
        "2 False",
        "[[0, 1], [1, 0]]",
    ]
    notes = task.notes("mapped")
    sparse = "OneHotEncoder(sparse=…) read as OneHotEncoder(sparse_output=…)"
    assert ("train.py", 8, sparse) in notes
    l1 = "LogisticRegression(penalty='l1') read with solver='liblinear'"
    assert [line for _, line, text in notes if text == l1] == [11, 12]
    assert ("train.py", 14, "KMeans(n_jobs=…) read without it") in notes
