"""Files in Python 2 took strings in either mode; the values were worked out by Python 2's rules."""


def test_pickles_go_through_files_opened_for_text(task):
    script = """
    import cPickle, pickle as p
    from pickle import load, dump
    f = open('a', 'w')
    cPickle.dump({'k': [1, 2]}, f)
    cPickle.dump('second', f, protocol=2)
    f.close()
    f = open('a')
    print cPickle.load(f), p.load(f)
    dump(3, open('b', 'w'), -1)
    print load(open('b')), p.Unpickler(open('b', 'r')).load(), p.load(open('b', 'rb'))
    open('c', 'w').write(p.dumps('as bytes'))
    print p.load(open('c'))
    """

    assert task.run(script) == "{'k': [1, 2]} second\n3 3 3\nas bytes\n"
    reported = "Python 2: pickle reads and writes bytes, in files opened for text too"
    assert reported in [text for _, _, text in task.notes("repaired")]


def test_tables_go_through_files_opened_for_bytes(task):
    script = """
    # -*- coding: utf-8 -*-
    import csv
    f = open('t.csv', 'wb')
    w = csv.writer(f, delimiter=';')
    w.writerow(['a', 1])
    csv.writer(f, delimiter=';').writerows([['丹', 'x;y']])
    f.write('end;2\\n')
    f.close()
    with open('t.csv', 'rb') as f:
        for row in csv.reader(f, delimiter=';'):
            print ','.join(row)
    print [dict(r)['a'] for r in csv.DictReader(open('t.csv', 'rb'), delimiter=';')]
    print list(csv.reader(['p,q']))
    """

    assert task.run(script) == "a,1\n丹,x;y\nend,2\n['丹', 'end']\n[['p', 'q']]\n"
    assert (task.code / "t.csv").read_bytes() == 'a;1\r\n丹;"x;y"\r\nend;2\n'.encode()


def test_text_is_written_into_file_of_bytes(task):
    script = """
    # -*- coding: utf-8 -*-
    import sys
    open('a', 'wb').write('text \\xff')
    open('b', 'wb').write('丹炉')
    open('c', 'w').write('plain')
    class Mine:
        def write(self, data):
            return 'mine ' + data
    sys.stdout.write('%s\\n' % Mine().write('x'))
    print 'end'
    """

    assert task.run(script) == "mine x\nend\n"
    reported = "text written to a file of bytes, or bytes to one of text, as in Python 2"
    assert [line for _, line, text in task.notes("repaired") if text == reported] == [4, 5]
    assert (task.code / "a").read_bytes() == b"text \xff"
    assert (task.code / "b").read_bytes() == "丹炉".encode()
    assert (task.code / "c").read_bytes() == b"plain"


def test_file_for_python3_is_refused_as_by_python3(task):
    task.write("train.py", "open('a', 'wb').write('text')\nprint(f'{1}')\n")

    done = task.python("train.py")

    assert "a bytes-like object is required, not 'str'" in done.stderr
