import pytest

from danlu.usercode.channel_use import Kind, find, uses_in

CHANNELS = ("data_url", "train_url")


def urls(text, **more):
    return find({"train.py": text, **more}, CHANNELS).urls


@pytest.mark.parametrize(
    "line",
    [
        "mox.file.copy_parallel(args.data_url, '/cache/data')",
        "moxing.file.copy(FLAGS.data_url, '/cache/data')",
        "mox.framework.file.copy_parallel(src_url=self.args.data_url, dst_url=d)",
        "mox.file.copy_parallel(flags['data_url'], d)",
        "mox.file.copy(os.path.join(args.data_url, 'a.zip'), '/cache/a.zip')",
        "mox.file.copy(args.data_url.rstrip('/') + '/a.zip', '/cache/a.zip')",
        "mox.file.copy('{}/a'.format(args.data_url), '/cache/a.zip')",
        "mox.file.copy_parallel(\n    args.data_url,  # the data\n    '/cache')",
        "file.copy_parallel(args.data_url, d)",
        "mox.file.copy(f'{args.data_url}/a.zip', '/cache/a.zip')",
    ],
)
def test_a_channel_that_moxing_copies_is_a_url(line):
    assert urls(f"import moxing as mox\n{line}\n") == ("data_url",)


@pytest.mark.parametrize(
    "line",
    [
        "os.listdir(args.data_url)",
        "open(os.path.join(args.data_url, 'x'))",
        "data = args.data_url",
        "path = os.path.join(args.data_url, 'x')",
        "train(args.data_url)",
        "open(f'{args.data_url}/x')",
        "path = rf'{args.data_url}/x'",
        "return args.data_url",
        "bucket = args.data_url.split('/')[2]",
        "x = 08 + args.data_url ? 'not Python at all",
        "x = f('''",
    ],
)
def test_any_other_use_makes_it_a_directory(line):
    copy = "mox.file.copy_parallel(args.data_url, d)\n"

    assert urls(f"{copy}{line}\n") == ()
    assert urls(copy, **{"beside.py": f"{line}  # args.data_url\n"}) == ()


@pytest.mark.parametrize(
    "line",
    [
        "print(args.data_url)",
        "print 'reading', args.data_url",
        "print(f'reading {args.data_url}')",
        "logging.info('data %s', args.data_url)",
        "tf.logging.info(args.data_url)",
        "if not args.data_url: exit()",
        "if args.data_url.startswith('s3://'): pass",
        "assert args.data_url",
        "mox.file.exists(args.data_url)",
        "mox.run(log_dir=args.data_url)",
        "tf.gfile.ListDirectory(args.data_url)",
        "args.data_url = '/cache/data'",
        "flags['data_url'] = '/cache/data'",
        "parser.add_argument('--data_url', default='s3://b/d')",
        "# open(args.data_url)",
        "'''open(args.data_url)'''",
    ],
)
def test_what_takes_both_or_neither_decides_nothing(line):
    assert urls(f"mox.file.copy_parallel(args.data_url, d)\n{line}\n") == ("data_url",)
    assert urls(f"{line}\n") == ()


def test_each_channel_is_decided_by_itself():
    text = (
        "mox.file.copy_parallel(args.data_url, '/cache/data')\n"
        "os.makedirs(args.train_url)\n"
        "mox.file.copy_parallel('/cache/out', args.train_url)\n"
    )

    found = find({"train.py": text}, CHANNELS)

    assert found.urls == ("data_url",)
    assert found.reasons == {
        "data_url": "train.py:1 copies it with mox.file.copy_parallel",
        "train_url": "train.py:3 copies it with mox.file.copy_parallel, "
        "but train.py:2 (os.makedirs) uses it as a path",
    }


def test_unused_channel_has_no_note():
    assert find({"train.py": "open(args.data_url)"}, CHANNELS).reasons == {}


def test_python_2_is_understood_too():
    text = "print 'x'\nexec 'y'\nmox.file.copy_parallel(FLAGS.data_url, d)\nprint `1`, 0777\n"

    assert next(uses_in("t.py", text, CHANNELS)).kind is Kind.COPIES


@pytest.mark.parametrize("text", ["(" * 100_000, "mox" * 50_000, "\0", "a.data_url" + "." * 9999])
def test_text_of_any_kind_is_survived(text):
    assert urls(f"args.data_url\n{text}") == ()
