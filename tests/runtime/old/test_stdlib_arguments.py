"""Methods and arguments Python's own library has lost, in a script as a task runs it."""


def test_methods_and_arguments_of_python_before_3_9(task):
    script = """
    import io, json, random, string, threading
    thread = threading.Thread(target=print, args=('ran',))
    print(thread.isAlive()); thread.start(); thread.join(); print(thread.isAlive())
    print(json.loads('{"a": 1}', encoding='utf-8'), json.load(io.StringIO('[2]'), encoding='utf8'))
    print(json.dumps([3], encoding='utf-8'))
    print(sorted(random.sample({1, 2, 3}, 3)), random.Random(0).sample({7}, 1))
    print(random.sample([5], k=1), random.sample(range(1), 1))
    print(string.rstrip('a '), string.splitfields('a,b', ','), string.count('aa', 'a'))
    """

    assert task.run(script).splitlines() == [
        "False",
        "ran",
        "False",
        "{'a': 1} [2]",
        "[3]",
        "[1, 2, 3] [7]",
        "[5] [0]",
        "a ['a', 'b'] 2",
    ]
    notes = task.notes("mapped")
    assert ("train.py", 4, "Thread.isAlive read as Thread.is_alive") in notes
    assert ("train.py", 5, "json.loads(encoding=…) read without it") in notes
    assert ("train.py", 7, "random.sample of a set read as random.sample of a tuple") in notes


def test_decoder_of_scripts_own_gets_its_encoding(task):
    script = """
    import json
    class Decoder(json.JSONDecoder):
        def __init__(self, encoding, **options):
            print(encoding)
            super().__init__(**options)
    print(json.loads('1', cls=Decoder, encoding='ascii'))
    """

    assert task.run(script) == "ascii\n1\n"


def test_a_seed_gives_the_sample_it_gave(task):
    script = """
    import random
    random.seed(3); first = random.sample(range(100), 5)
    print(first == random.Random(3).sample(range(100), 5))
    """

    assert task.run(script) == "True\n"
