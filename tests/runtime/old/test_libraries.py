"""What scipy, pandas, scikit-learn, Pillow, matplotlib and OpenCV have lost."""


def test_scipy_misc_reads_scales_and_writes_images(task):
    script = """
    import warnings; warnings.simplefilter('ignore')
    import numpy as np
    import scipy.misc
    from scipy.misc import imresize, imread, logsumexp, comb
    from scipy.misc.pilutil import imsave
    ramp = np.arange(12, dtype=float).reshape(3, 4)
    scipy.misc.imsave('a.png', ramp)
    print(imread('a.png').tolist()[0], imread('a.png', mode='RGB').shape)
    print(imread('a.png', flatten=True).dtype)
    print(imresize(ramp, 200).shape, imresize(ramp, 0.5).shape, imresize(ramp, (6, 2)).shape)
    print(scipy.misc.toimage(np.zeros((3, 5, 2), 'uint8')).size)
    print(scipy.misc.bytescale(np.array([0.0, 1.0])).tolist())
    print(scipy.misc.imrotate(np.array([[1, 2], [3, 4]], 'uint8'), 90).tolist())
    print(comb(4, 2), round(float(logsumexp([0.0, 0.0])), 4))
    print(scipy.misc.derivative(lambda x: x**2, 3.0))
    """

    assert task.run(script).splitlines() == [
        "[0, 23, 46, 70] (3, 4, 3)",
        "float32",
        "(6, 8) (1, 2) (6, 2)",
        "(2, 5)",
        "[0, 255]",
        "[[2, 4], [1, 3]]",
        "6.0 0.6931",
        "6.0",
    ]


def test_pandas_as_before_one_and_two(task):
    script = """
    import io
    import pandas as pd
    a = pd.DataFrame({'x': [1, 2]}, index=['p', 'q'])
    b = a.append({'x': 3}, ignore_index=True)
    print(a.append(a, ignore_index=True).x.tolist(), b.x.tolist())
    print(a.as_matrix().tolist(), a.ix['q', 'x'], a.ix[0, 'x'], a.ix[0:1, 0].tolist())
    a.ix['p', 'x'] = 9
    print(a.get_value('p', 'x'), [name for name, _ in a.iteritems()], a.sort('x').x.tolist())
    rows = io.StringIO('a,b\\n1,2\\n1,2,3\\n3,4\\n')
    print(len(pd.read_csv(rows, error_bad_lines=False, warn_bad_lines=False)))
    print(pd.Series([1]).append(pd.Series([2])).tolist())
    try:
        pd.Panel()
    except Exception as error:
        print(error)
    """

    assert task.run(script).splitlines() == [
        "[1, 2, 1, 2] [1, 2, 3]",
        "[[1], [2]] 2 1 [1]",
        "9 ['x'] [2, 9]",
        "2",
        "[1, 2]",
        "pandas.Panel left pandas with 0.25; use a DataFrame with a MultiIndex, or a numpy array.",
    ]
    assert ("train.py", 5, "pandas DataFrame.append read as pd.concat") in task.notes("mapped")


def test_pandas_from_csv(task):
    script = """
    import io
    import pandas as pd
    print(pd.DataFrame.from_csv(io.StringIO('day,x\\n2019-01-02,5\\n')).index[0].month)
    table = pd.DataFrame.from_csv(io.StringIO('k;x;y\\np;1;2\\n'), sep=';', parse_dates=False)
    print(table.loc['p'].tolist(), list(table.columns))
    print(pd.Series.from_csv(io.StringIO('p,1\\nq,2\\n'), parse_dates=False)['q'])
    print(pd.read_table(io.StringIO('a\\tb\\n1\\t2\\n')).b.tolist())
    """

    assert task.run(script).splitlines() == ["1", "[1, 2] ['x', 'y']", "2", "[2]"]
    assert ("train.py", 4, "pandas DataFrame.from_csv read as pd.read_csv") in task.notes("mapped")


def test_sklearn_modules_of_before(task):
    script = """
    import numpy as np
    from sklearn.cross_validation import KFold, StratifiedKFold, train_test_split
    from sklearn.grid_search import GridSearchCV
    from sklearn.externals import joblib
    from sklearn.externals.six.moves import xrange
    from sklearn.preprocessing import Imputer
    from sklearn.datasets import fetch_mldata, load_boston
    print([test.tolist() for _, test in KFold(4, n_folds=2)], len(KFold(4, n_folds=2)))
    print(sorted(i for _, t in StratifiedKFold([0, 0, 1, 1], n_folds=2) for i in t.tolist()))
    print(len(train_test_split(range(4))[1]), list(xrange(2)), GridSearchCV.__name__)
    print(Imputer(strategy='mean').fit_transform([[1.0], [np.nan], [3.0]]).ravel().tolist())
    joblib.dump([1], 'a.pkl'); print(joblib.load('a.pkl'))
    for gone in (fetch_mldata, load_boston):
        try:
            gone('MNIST original')
        except Exception as error:
            print(str(error)[:40])
    """

    assert task.run(script).splitlines() == [
        "[[0, 1], [2, 3]] 2",
        "[0, 1, 2, 3]",
        "1 [0, 1] GridSearchCV",
        "[1.0, 2.0, 3.0]",
        "[1]",
        "sklearn.datasets.fetch_mldata read mldat",
        "sklearn.datasets.load_boston left scikit",
    ]
    assert [line for _, line, _ in task.notes("gone")] == [16, 16]


def test_pillow_opencv_and_matplotlib(task):
    script = """
    import numpy as np
    from PIL import Image, ImageDraw, ImageFont
    image = Image.new('L', (8, 8)).resize((4, 4), Image.ANTIALIAS)
    width, height = ImageDraw.Draw(image).textsize('ab')
    print(image.size, width > 0, ImageFont.load_default().getsize('ab')[0] > 0)
    import cv2
    print(cv2.CV_AA == cv2.LINE_AA, cv2.cv.CV_LOAD_IMAGE_COLOR == cv2.IMREAD_COLOR)
    import matplotlib
    matplotlib.use('TkAgg')
    import matplotlib.pyplot as plt
    plt.hold(True)
    heights = plt.hist([1, 1, 2], bins=2, normed=True)[0]
    plt.grid(b=True)
    print(matplotlib.get_backend().lower(), round(float(heights.sum() * 0.5), 3))
    print(plt.cm.get_cmap('jet').name, plt.figure().gca(projection='3d').name)
    plt.savefig('a.png')
    """

    assert task.run(script, DISPLAY="", WAYLAND_DISPLAY="").splitlines() == [
        "(4, 4) True True",
        "True True",
        "agg 1.0",
        "jet 3d",
    ]
