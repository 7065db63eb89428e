"""Names and ways numpy has lost, in a script as a task runs it."""

import pytest

VALUES = {
    "np.float": "<class 'float'>",
    "np.int(3.7)": "3",
    "np.zeros(1, dtype=np.object).dtype": "object",
    "np.float_(1).dtype": "float64",
    "np.unicode_('a')": "a",
    "np.Inf": "inf",
    "np.NaN": "nan",
    "np.product([2, 3])": "6",
    "np.cumproduct([2, 3]).tolist()": "[2, 6]",
    "np.alltrue([1, 0])": "False",
    "np.sometrue([1, 0])": "True",
    "np.asscalar(np.array([5]))": "5",
    "np.in1d([1, 2], [2]).tolist()": "[False, True]",
    "np.trapz([0, 2])": "1.0",
    "np.msort(np.array([[2], [1]])).tolist()": "[[1], [2]]",
    "np.row_stack([[1], [2]]).tolist()": "[[1], [2]]",
    "np.asfarray([1]).dtype": "float64",
    "np.asfarray([1], dtype=np.float32).dtype": "float32",
    "np.find_common_type([np.float32], [np.int64])": "float32",
    "np.find_common_type([np.int32], [np.float64])": "float64",
    "np.rank([[1]])": "2",
    "np.mat([[1]]).shape": "(1, 1)",
    "np.random.random_integers(2, 2)": "2",
    "np.reshape(np.arange(4), newshape=(2, 2)).shape": "(2, 2)",
    "np.array([[1], [1, 2]]).dtype": "object",
    "np.asarray([[1], [1, 2]]).shape": "(2,)",
    "np.bool(1)": "True",
    "np.cast['int32']([1.7]).dtype": "int32",
    "np.cast[np.float32](2).tolist()": "2.0",
    "np.vstack(np.ones(2) for _ in range(3)).shape": "(3, 2)",
    "np.hstack(map(np.ones, [1, 2])).shape": "(3,)",
    "np.linspace(0, 1, 5.0).tolist()": "[0.0, 0.25, 0.5, 0.75, 1.0]",
    "len(np.linspace(0, 1, num=np.float64(3.9)))": "3",
    "np.ptp([1, 4])": "3",
}


def test_every_name_gives_what_it_gave(task):
    lines = ["import warnings; warnings.simplefilter('ignore')", "import numpy as np"]
    lines += [f"print({expression})" for expression in VALUES]

    printed = task.run("\n".join(lines)).splitlines()

    assert dict(zip(VALUES, printed, strict=True)) == VALUES
    assert ("train.py", 3, "numpy.float read as float") in task.notes("mapped")
    texts = [text for _, _, text in task.notes("mapped")]
    assert texts.count("np.linspace(num=5.0) read as num=5") == 1
    assert "np.vstack of an iterator read as np.vstack of a list" in texts


def test_libraries_get_no_unrequested_object_arrays(task):
    task.write(
        "site-packages/lib.py", "import numpy as np\nmake = lambda: np.array([[1], [1, 2]])\n"
    )
    script = """
    import sys; sys.path.append('site-packages')
    import lib
    try:
        lib.make()
    except ValueError as error:
        print('refused')
    """

    assert task.run(script) == "refused\n"


def test_a_kind_that_was_asked_for_is_kept(task):
    script = """
    import numpy as np
    try:
        np.array([[1], [1, 2]], dtype=np.int32)
    except ValueError:
        print('refused')
    """

    assert task.run(script) == "refused\n"


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_pickled_objects_load_as_before_1_16_3(task, name):
    script = f"""
    import numpy as np
    made = np.array([{{'a': 1}}], dtype=object)
    np.save('a.npy', made) if {name!r} == 'a.npy' else np.savez('a.npz', made)
    found = np.load({name!r})
    print((found if {name!r} == 'a.npy' else found['arr_0'])[0])
    """

    assert task.run(script) == "{'a': 1}\n"
    text = "np.load read pickled objects, as before numpy 1.16.3"
    assert ("train.py", 5, text) in task.notes("mapped")


def test_pickles_are_refused_if_disallowed(task):
    script = """
    import numpy as np
    np.save('a.npy', np.array([{}], dtype=object))
    try:
        np.load('a.npy', allow_pickle=False)
    except ValueError:
        print('refused')
    """

    assert task.run(script) == "refused\n"
