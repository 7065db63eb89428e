"""Names SciPy has lost, in a script as a task runs it."""


def test_names_of_numpy_at_the_top_of_scipy(task):
    script = """
    import scipy
    import scipy as sp
    from scipy import zeros
    print(scipy.mean([1, 3]), zeros(2).tolist(), sp.array([1]).tolist(), sp.pi > 3)
    print(sp.sqrt(-1), sp.log(1.0), sp.randn(2, 3).shape, sp.rand(2).shape)
    print(scipy.linalg.norm([3, 4]), scipy.fft.fft([1.0]).real.tolist(), sp.random.rand(1).shape)
    try:
        scipy.no_such_name
    except AttributeError as error:
        print(error)
    """

    assert task.run(script).splitlines() == [
        "2.0 [0.0, 0.0] [1] True",
        "1j 0.0 (2, 3) (2,)",
        "5.0 [1.0] (1,)",
        "Module 'scipy' has no attribute 'no_such_name'",
    ]
    assert ("train.py", 5, "scipy.mean read as numpy.mean") in task.notes("mapped")


def test_integrals_and_windows_under_their_old_names(task):
    script = """
    from scipy import integrate, signal
    from scipy.integrate import simps, cumtrapz
    from scipy.signal import hann, blackman
    print(simps([0, 1, 4], [0, 1, 2]), simps([0, 1, 4], dx=1, even='avg'))
    print(integrate.trapz([0, 2]), cumtrapz([0, 2, 4], initial=0).tolist())
    print(hann(3).tolist(), signal.hanning(3).tolist(), signal.hamming(3).round(2).tolist())
    print(abs(blackman(3).round(2)).tolist(), signal.gaussian(3, std=1).shape)
    """

    lines = task.run(script).splitlines()

    assert [round(float(value), 4) for value in lines[0].split()] == [2.6667, 2.6667]
    assert lines[1:] == [
        "1.0 [0.0, 1.0, 4.0]",
        "[0.0, 1.0, 0.0] [0.0, 1.0, 0.0] [0.08, 1.0, 0.08]",
        "[0.0, 1.0, 0.0] (3,)",
    ]
    texts = [text.partition(" read")[0] for _, _, text in task.notes("mapped")]
    assert {"scipy.integrate.trapz", "scipy.signal.hamming"} <= set(texts)
    assert "scipy.integrate.simps(even='avg')" in texts
