"""An output of DLS is passed as its URL, unless a call of the code needs a local path."""

import pytest

from danlu.usercode.channel_use import find_outputs


def decided(text, **more):
    found = find_outputs({"train.py": text, **more}, ("train_url",))
    return found.urls == ("train_url",), found.reasons["train_url"]


@pytest.mark.parametrize(
    "text",
    [
        "mox.run(input_fn, model_fn, log_dir=FLAGS.train_url)",
        "log_dir = FLAGS.train_url\nmox.run(input_fn, model_fn, log_dir=log_dir)",
        "tf.gfile.MakeDirs(FLAGS.train_url)",
        "tf.train.Saver().save(sess, os.path.join(FLAGS.train_url, 'model.ckpt'))",
        "writer = tf.summary.FileWriter(FLAGS.train_url + '/log')",
        "tf.estimator.Estimator(model_fn, model_dir=args.train_url)",
        "model.save(os.path.join(args.train_url, 'model.h5'))",
        "tf.keras.callbacks.TensorBoard(log_dir=args.train_url)",
        "mox.file.copy_parallel('/cache/out', args.train_url)",
        "import os\nos.makedirs('/cache/o')\nmox.file.copy_parallel('/cache/o', args.train_url)",
        "print('writing to', FLAGS.train_url)\nlogging.info(FLAGS.train_url)",
        "if not FLAGS.train_url: raise ValueError('train_url is missing')",
        "parser.add_argument('--train_url', default='/tmp/out')",
        "def save(path):\n    open(path, 'w')\nsave('/cache/a')\nmox.run(log_dir=FLAGS.train_url)",
        "def f():\n    p = FLAGS.train_url\n    mox.run(p)\ndef g():\n    p = '/a'\n    open(p)",
        "import moxing as mox\nmox.file.shift('os', 'mox')\nos.makedirs(args.train_url)",
        "# open(args.train_url)\n'''open(args.train_url)'''",
        "import tensorflow as tf\ndef open_it(d):\n    open(d)\ntf.open_it(args.train_url)",
        "",
        "x = (((",
    ],
)
def test_it_is_the_url(text):
    assert decided(text)[0], decided(text)[1]


@pytest.mark.parametrize(
    ("text", "line", "by"),
    [
        ("os.makedirs(FLAGS.train_url)", 1, "os.makedirs"),
        ("open(os.path.join(args.train_url, 'x'), 'w')", 1, "open"),
        ("a = args.train_url\nb = a + '/x'\nopen(b)", 3, "open"),
        ("x = a = args.train_url\nos.listdir(x)", 2, "os.listdir"),
        ("x: str = args.train_url\nopen(x)", 2, "open"),
        ("from os import makedirs\nmakedirs(args.train_url)", 2, "makedirs"),
        ("import os.path as osp\nosp.isdir(a.train_url)", 2, "osp.isdir"),
        ("import numpy as np\nnp.save(a.train_url, x)", 2, "np.save"),
        ("from PIL import Image\nImage.fromarray(x).save(a.train_url)", 2, "save"),
        ("img.save(a.train_url + '/1.png')", 1, "img.save"),
        ("plt.savefig('{}/a.png'.format(a.train_url))", 1, "plt.savefig"),
        ("df.to_csv(a.train_url)", 1, "df.to_csv"),
        ("import h5py\nh5py.File(a.train_url, 'w')", 2, "h5py.File"),
        ("subprocess.call(['cp', x, a.train_url])", 1, "subprocess.call"),
        ("logging.basicConfig(filename=a.train_url)", 1, "logging.basicConfig"),
        ("from pathlib import Path\nPath(a.train_url)", 2, "Path"),
        ("open(f'{args.train_url}/x')", 1, "open"),
        ("open('%s/x' % args.train_url)", 1, "open"),
        ("open(flags['train_url'])", 1, "open"),
        ("x = vars(args)['train_url']\nopen(x)", 2, "open"),
        ("open(getattr(args, 'train_url'))", 1, "open"),
        ("cfg['a'] = args.train_url\nopen(cfg['a'])", 2, "open"),
        ("for d in [args.train_url, '/a']:\n  os.mkdir(d)", 2, "os.mkdir"),
        ("p.add_argument('-o', '--out', '--train_url')\nopen(args.out)", 2, "open"),
        ("p.add_argument('--train_url', dest='o')\nopen(args.o)", 2, "open"),
        ("def main(train_url):\n    open(train_url)", 2, "open"),
        ("def d():\n    return args.train_url\nopen(d())", 3, "open"),
        ("def s(a, path=1):\n    open(path)\ns(1, path=F.train_url)", 2, "open"),
        (
            "class A:\n    def __init__(self, d):\n        self.d = d\n"
            "    def go(self):\n        os.path.exists(self.d)\nA(args.train_url)",
            5,
            "os.path.exists",
        ),
        ("print 'x'\nexec 'y'\nx = 0777\nopen(FLAGS.train_url)", 4, "open"),
        ("if a: pass; open(FLAGS.train_url)", 1, "open"),
    ],
)
def test_call_that_needs_local_path_makes_it_directory(text, line, by):
    assert decided(text) == (False, f"train.py:{line} needs a local path ({by})")


def test_the_value_is_followed_into_other_files():
    text = "from tools import store\nstore.keep(FLAGS.train_url)\n"
    other = "import os\ndef keep(folder):\n    os.makedirs(folder)\n"

    url, reason = decided(text, **{"tools/store.py": other})

    assert not url
    assert reason == "tools/store.py:3 needs a local path (os.makedirs)"


def test_reason_for_a_url_names_the_function():
    assert decided("print(FLAGS.train_url)\nmox.run(log_dir=FLAGS.train_url)")[1] == (
        "train.py:2 passes it to mox.run, and no line of the code needs a local path"
    )
    assert decided("x = 1")[1] == "no line of the code needs a local path"


@pytest.mark.parametrize("text", ["(" * 100_000, "mox" * 50_000, "\0", "a.train_url" + "." * 9999])
def test_text_of_any_kind_is_survived(text):
    assert decided(f"args.train_url\n{text}")[0]
