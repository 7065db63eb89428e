from danlu_runtime.failure import describe


def fail():
    raise ValueError("why")


def test_a_program_without_code_of_the_users_has_no_lines_of_theirs(monkeypatch):
    monkeypatch.chdir("/")
    try:
        fail()
    except ValueError as error:
        told = describe("", error)

    assert (told.exception, told.message, told.frames) == ("ValueError", "why", ())
