"""Logs: bounded on disk, honest about what is gone, few objects in a store."""

from danlu.taskdir.log import LogReader, LogWriter


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def stored(store):
    return sum(size for _, size in store.names("t/log/"))


def test_limited_log_keeps_begin_and_end(store):
    writer = LogWriter(store, "t/", limit=40, segment=10)

    for number in range(100):
        writer.write(b"%09d\n" % number)
        writer.flush()

    reader = LogReader(store, "t/")
    first = reader.read(0)
    assert first.data == b"000000000\n"
    after = reader.read(first.next)
    assert after.skipped == 960
    assert (after.start, after.data) == (970, b"000000097\n")
    assert reader.end() == 1000
    assert stored(store) <= 40


def test_one_enormous_write_is_kept_within_limit_too(store):
    writer = LogWriter(store, "t/", limit=400, segment=100)

    writer.write(b"x" * 5_000)
    writer.write(b"the end")
    writer.flush()

    assert stored(store) <= 400
    assert LogReader(store, "t/").read(-7).data == b"the end"
    assert LogReader(store, "t/").end() == 5_007


def test_many_small_flushes_lose_nothing(store):
    writer = LogWriter(store, "t/", limit=10_000, segment=1_000)

    for number in range(300):
        writer.write(b"%03d\n" % number)
        writer.flush()

    data = b""
    while more := LogReader(store, "t/").read(len(data)):
        if not more.data:
            break
        assert more.skipped == 0
        data += more.data
    assert data == b"".join(b"%03d\n" % number for number in range(300))
    assert len(store.names("t/log/")) == 2


def test_what_was_flushed_never_changes_below_its_end(store):
    writer = LogWriter(store, "t/", limit=10_000, segment=100)
    reader = LogReader(store, "t/")
    writer.write(b"one ")
    writer.flush()
    seen = reader.read(0)

    writer.write(b"two ")
    writer.flush()

    assert reader.read(0).data == b"one two "
    assert reader.read(seen.next).data == b"two "


def test_a_negative_offset_counts_from_the_end(store):
    writer = LogWriter(store, "t/", limit=1_000, segment=100)
    writer.write(b"0123456789")
    writer.flush()

    assert LogReader(store, "t/").read(-3).data == b"789"
    assert LogReader(store, "t/").read(-99).data == b"0123456789"


def test_nothing_is_empty_chunk_at_same_place(store):
    reader = LogReader(store, "t/")

    assert (reader.read(0).data, reader.read(0).next) == (b"", 0)
    assert (reader.read(42).data, reader.read(42).next) == (b"", 42)
    assert reader.end() == 0
    assert list(reader.marks()) == []


def test_timestamp_index_has_time_of_each_byte(store):
    clock = Clock()
    writer = LogWriter(store, "t/", limit=1_000, segment=100, clock=clock)
    writer.write(b"a")
    clock.now += 0.5
    writer.write(b"b")
    clock.now += 0.5
    writer.write(b"c")
    writer.flush()

    assert list(LogReader(store, "t/").marks()) == [(0, 1000.0), (2, 1001.0)]


def test_marks_do_not_go_back_with_the_clock(store):
    """Lines are put in order by them: a line would come before one that was written earlier."""
    clock = Clock()
    writer = LogWriter(store, "t/", limit=1_000, segment=100, clock=clock)
    for data, seconds in ((b"a", -7200), (b"b", 1), (b"c", 7200), (b"d", 0)):
        writer.write(data)
        clock.now += seconds
    writer.flush()

    assert list(LogReader(store, "t/").marks()) == [(0, 1000.0), (3, 1001.0)]


def test_marks_stay_few_in_a_long_run(store):
    clock = Clock()
    writer = LogWriter(store, "t/", limit=100_000, segment=10_000, clock=clock)
    for _ in range(10_000):
        clock.now += 1
        writer.write(b"x")
    writer.flush()

    marks = LogReader(store, "t/").marks()
    assert len(marks) <= 2048
    assert marks[0] == (0, 1001.0)
    assert marks[-1][0] > 9_900


def test_marks_are_rewritten_only_with_new_ones(store):
    clock = Clock()
    writer = LogWriter(store, "t/", limit=1_000, segment=100, clock=clock)
    writer.write(b"a")
    writer.flush()
    store.remove("t/log.marks.json")

    writer.write(b"b")
    writer.flush()

    assert list(LogReader(store, "t/").marks()) == []


def test_removed_segment_is_a_gap(store):
    writer = LogWriter(store, "t/", limit=10_000, segment=10)
    writer.write(b"0123456789")
    writer.flush()
    writer.write(b"abcdefghij")
    writer.flush()
    reader = LogReader(store, "t/")
    segments = reader._segments()
    store.remove("t/log/" + "0" * 20)
    reader._segments = lambda: segments  # as listed a moment ago

    assert (reader.read(0).data, reader.read(0).next) == (b"", 0)
    del reader._segments
    assert (reader.read(0).skipped, reader.read(0).data) == (10, b"abcdefghij")
