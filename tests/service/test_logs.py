import tracemalloc

import pytest

from danlu.errors import NotFound, Refused
from danlu.job.state import Reason
from danlu.service.jobs.logs import fold
from danlu.taskdir.log import LogReader, LogWriter


@pytest.fixture
def running(platform, request_of):
    job = platform.service.submit(request_of)
    platform.tick()
    return job


def writer(platform, job, task="worker-0", attempt=1, **more):
    files = platform.executor.files(job.id, attempt, task)
    return LogWriter(files.store, f"{attempt}/{task}/", limit=1 << 30, clock=platform.clock, **more)


def text(batch):
    return [line.text for line in batch.lines]


def test_a_line_is_shown_when_it_is_complete(platform, running):
    log = writer(platform, running)
    log.write(b"one\ntw")
    first = platform.service.lines(running.id)
    log.write(b"o\n")

    second = platform.service.lines(running.id, cursor=first.cursor)

    assert text(first) == ["one"]
    assert first.partial == {"worker-0": "tw"}
    assert text(second) == ["two"]


def test_lines_are_whole_while_log_is_written(platform, running, monkeypatch):
    log = writer(platform, running)
    log.write(b"one")
    rest = [b" two\n"]
    read = LogReader.read

    def read_then_write(self, *args):
        chunk = read(self, *args)
        if not chunk.data and rest:
            log.write(rest.pop())
        return chunk

    monkeypatch.setattr(LogReader, "read", read_then_write)

    first = platform.service.lines(running.id)
    second = platform.service.lines(running.id, cursor=first.cursor)

    assert (text(first), first.partial) == ([], {"worker-0": "one"})
    assert text(second) == ["one two"]


def test_last_line_is_not_lost_without_newline(platform, running):
    writer(platform, running).write(b"one\nlast words")
    platform.executor.end(running.id, 1, "worker-0")
    platform.tick()

    batch = platform.service.lines(running.id)

    assert text(batch) == ["one", "last words"]
    assert batch.ended


def test_nothing_is_ended_while_the_job_lives(platform, running):
    assert not platform.service.lines(running.id).ended


def test_bars_are_folded_to_their_last_state():
    assert fold(b"10%\r50%\r100%\n") == "100%"
    assert fold(b"done\r\n") == "done"
    assert fold(b"\xff\xfe\n") == "\ufffd\ufffd"


def test_a_line_of_megabytes_comes_in_pieces(platform, running):
    writer(platform, running).write(b"x" * (1 << 20))

    batch = platform.service.lines(running.id)

    assert len(batch.lines[0].text) == 256 << 10


def test_endless_progress_bar_is_folded(platform, running):
    writer(platform, running).write(b"".join(b"step %06d\r" % n for n in range(20_000)))

    batch = platform.service.lines(running.id)

    assert len(batch.lines) == 1
    assert batch.lines[0].text.startswith("step 0")


def test_lines_of_several_tasks_are_merged_by_time(platform, request_of):
    platform.executor.cpus = 4
    job = platform.service.submit({**request_of, "nodes": 2})
    platform.tick()
    one, two = writer(platform, job, "worker-0"), writer(platform, job, "worker-1")
    for log, words in [(one, b"a\n"), (two, b"b\n"), (one, b"c\n"), (two, b"d\n")]:
        platform.now += 2
        log.write(words)
        log.flush()

    batch = platform.service.lines(job.id)

    assert [(line.task, line.text) for line in batch.lines] == [
        ("worker-0", "a"),
        ("worker-1", "b"),
        ("worker-0", "c"),
        ("worker-1", "d"),
    ]


def test_a_tail_is_the_last_lines(platform, running):
    writer(platform, running).write(b"".join(b"%d\n" % n for n in range(100_000)))

    assert text(platform.service.lines(running.id, tail=2)) == ["99998", "99999"]


def test_a_follower_goes_on_into_the_next_attempt(platform, running):
    writer(platform, running).write(b"first try\n")
    platform.executor.end(running.id, 1, "worker-0", reason=Reason.KILLED)
    platform.tick()
    platform.tick(seconds=100)
    writer(platform, running, attempt=2).write(b"second try\n")

    first = platform.service.lines(running.id)
    second = platform.service.lines(running.id, cursor=first.cursor)

    assert (text(first), text(second)) == (["first try"], ["second try"])


def test_bytes_dropped_by_the_limit_are_reported(platform, running):
    files = platform.executor.files(running.id, 1, "worker-0")
    log = LogWriter(files.store, "1/worker-0/", limit=30, segment=10)
    for n in range(6):
        log.write(b"line %03d\n" % n)

    seen, cursor = [], ""
    for _ in range(20):
        batch = platform.service.lines(running.id, cursor=cursor)
        seen += text(batch)
        cursor = batch.cursor

    assert "line 000" in seen[0]
    assert "line 005" in seen[-1]
    assert any("bytes of output were dropped here" in line for line in seen)


def test_a_task_that_is_not_there_is_named(platform, running):
    with pytest.raises(NotFound, match="worker-7"):
        platform.service.lines(running.id, tasks=["worker-7"])


def test_an_attempt_that_was_not_made_is_named(platform, running):
    with pytest.raises(NotFound, match="so far: 1"):
        platform.service.lines(running.id, attempt=3)


def test_a_made_up_cursor_is_refused(platform, running):
    with pytest.raises(Refused, match="cursor"):
        platform.service.lines(running.id, cursor="soon")


def test_long_tail_begins_with_whole_line(platform, running):
    lines = [f"第 {n} 行 " + "x" * 90 for n in range(20_000)]
    writer(platform, running).write("".join(f"{line}\n" for line in lines).encode())

    assert text(platform.service.lines(running.id, tail=15_000)) == lines[-15_000:]


def test_tail_goes_back_over_gap_and_reports_it(platform, running):
    files = platform.executor.files(running.id, 1, "worker-0")
    log = LogWriter(files.store, "1/worker-0/", limit=30, segment=10)
    for n in range(6):
        log.write(b"line %03d\n" % n)

    tail = text(platform.service.lines(running.id, tail=10))

    assert (tail[0], tail[-1]) == ("line 000", "line 005")
    assert any("bytes of output were dropped here" in line for line in tail)


@pytest.mark.parametrize("ends", [b"", b"\n"])
def test_tail_of_endless_lines_uses_little_memory(platform, running, ends):
    log = writer(platform, running)
    for _ in range(40):
        log.write(b"x" * (1 << 20))
    log.write(b"\r1 of 2\r2 of 2" + ends)

    tracemalloc.start()
    shown = platform.service.lines(running.id, tail=1)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 8 << 20
    assert [*text(shown), shown.partial.get("worker-0")][-1 if not ends else 0] == "2 of 2"


def test_tail_holds_no_more_text_than_answer_may(platform, running):
    log = writer(platform, running)
    for n in range(20):
        log.write(b"%d" % n + b"x" * (1 << 20) + b"\n")

    shown = text(platform.service.lines(running.id, tail=1000))

    assert sum(map(len, shown)) <= 8 << 20
    assert shown[-1].endswith("x")


def test_a_line_in_pieces_is_cut_between_characters(platform, running):
    writer(platform, running).write("中文字符".encode() * 100_000 + b"\n")

    seen, cursor = "", ""
    for _ in range(10):
        batch = platform.service.lines(running.id, cursor=cursor)
        seen, cursor = seen + "".join(text(batch)), batch.cursor

    assert seen == "中文字符" * 100_000
