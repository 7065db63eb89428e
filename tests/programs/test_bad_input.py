"""Bad input gets a sentence, all faults at once, and nothing is stored."""

import io
import os
import tarfile

import pytest

SHARED_HOME = True

WORKS = "print('works')\n"


def refused(person, *words, code=2):
    done = person.types(*words, code=code)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert person.asks("ls")["jobs"] == []
    return done.stderr


def test_a_boot_file_that_is_not_there(person):
    person.script(WORKS)

    reported = refused(person, "run", person.folder / "code", "--boot-file", "tarin.py")

    assert "tarin.py" in reported


def test_a_boot_file_that_is_not_python(person):
    person.script("echo", "run.sh")

    reported = refused(person, "run", person.folder / "code", "--boot-file", "run.sh")

    assert "'run.sh' is not a Python file" in reported


def test_a_path_that_is_not_there(person):
    assert "nowhere.py" in refused(person, "run", "nowhere.py")


def test_every_fault_is_reported_at_once(person):
    script = person.script(WORKS)

    reported = refused(
        person,
        *("run", script, "--data-url", "obs://bucket/none", "--flavor", "cpu.basik"),
        *("--nodes", "99", "-p", "max steps=1", "--name", "a b"),
    )

    for part in ("max steps", "name: must be"):
        assert part in reported


def test_faults_of_the_ground_are_reported_together(person):
    script = person.script(WORKS)

    reported = refused(
        person, "run", script, "--data-url", "obs://bucket/none", "--flavor", "cpu.basik"
    )

    assert "there is nothing at 'obs://bucket/none'" in reported
    assert "Did you mean 'cpu.basic'?" in reported


def test_unknown_field_in_a_job_file(person):
    person.script(WORKS)
    job = person.folder / "job.toml"
    job.write_text('code = "code"\nboot_file = "train.py"\ntrain_ulr = "obs://bucket/o"\n')

    reported = refused(person, "submit", job)

    assert "train_ulr: is not a field. Did you mean 'train_url'?" in reported


def test_a_parameter_without_a_value(person):
    assert "lr" in refused(person, "run", person.script(WORKS), "-p", "lr")


def test_more_nodes_than_machine_can_hold(person):
    reported = refused(person, "run", person.script(WORKS), "--nodes", "50")

    assert "the 100 tasks of the job ask for 50 CPUs together, this machine has 4." in reported
    assert "Ask for fewer tasks" in reported


def test_a_name_that_is_taken(person):
    script = person.script(WORKS)
    person.types("run", script, "--name", "mnist")

    reported = person.types("run", script, "--name", "mnist", code=1).stderr

    assert "'mnist'" in reported
    assert len(person.asks("ls")["jobs"]) == 1


def test_code_over_the_limit_names_its_biggest_files(person):
    person.script(WORKS)
    (person.folder / "code" / "huge.bin").write_bytes(os.urandom(3 << 20))
    person.env["DANLU_CODE_LIMIT"] = "1M"

    reported = refused(person, "run", person.folder / "code")

    assert "huge.bin" in reported


def archive(path, *members):
    with tarfile.open(path, "w:gz") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def link(name, to):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, to
    return member, b""


@pytest.mark.parametrize(
    ("members", "named"),
    [
        ([(tarfile.TarInfo("../x.py"), b"1")], "'../x.py'"),
        ([(tarfile.TarInfo("/abs.py"), b"1")], "'/abs.py'"),
        ([link("passwd", "/etc/passwd")], "'passwd'"),
        ([(tarfile.TarInfo("bomb.bin"), bytes(200 << 20))], "bomb.bin"),
    ],
    ids=["dots", "absolute", "link", "bomb"],
)
def test_an_archive_that_may_not_be_unpacked(person, members, named):
    path = person.folder / "code.tar.gz"
    archive(path, (tarfile.TarInfo("train.py"), b"print(1)"), *members)

    reported = refused(person, "run", path, "--boot-file", "train.py")

    assert named in reported


def test_an_archive_that_is_cut_short(person):
    path = person.folder / "code.tar.gz"
    archive(path, (tarfile.TarInfo("train.py"), os.urandom(50_000)))
    path.write_bytes(path.read_bytes()[:20_000])

    reported = refused(person, "run", path, "--boot-file", "train.py")

    assert "The archive" in reported


def test_a_job_that_is_not_there(person):
    person.types("run", person.script(WORKS), "--name", "mnist")

    reported = person.types("show", "mnits", code=3).stderr

    assert "Did you mean 'mnist'?" in reported
