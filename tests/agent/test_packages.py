"""Packages a job asks for, installed by the real agent from wheels in a folder."""

import json
import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from danlu.job.job import new_id
from danlu.job.plan import Fetch, Install
from danlu.job.state import Reason
from danlu.storage.cache import ContentCache
from wheels import sdist, wheel, wheel_of_installed

CODE = "/home/ma-user/modelarts/user-job-dir/code"
CLICK = version("click")


def report(bench):
    found = list((bench.home / "cache/trees").glob("*/packages.json"))
    assert len(found) == 1
    return json.loads(found[0].read_text())


def test_script_imports_what_its_requirements_file_asks_for(each_bench, index, asking):
    if each_bench.before:  # a user without rights must reach these too
        each_bench.before[2:2] = [str(index), os.environ["UV_CACHE_DIR"]]
    wheel(index, "deep", "2.0")
    wheel(
        index,
        "wide",
        "1.5",
        {"wide/__init__.py": "import deep\ndef main(): print('wide on deep', deep.version)\n"},
        requires=["deep>=1"],
    )
    script = """
        import subprocess, sys
        import wide
        wide.main()
        words = [sys.executable, "-c", "import wide; print('child', wide.__name__)"]
        subprocess.run(words, check=True)
    """
    files = asking(each_bench, script, "wide==1.5\n")

    outcome = each_bench.run(files)

    log = each_bench.log(files)
    assert outcome.reason is Reason.DONE, log
    assert "wide on deep 2.0" in log
    assert "child wide" in log
    assert "deep 2.0, wide 1.5" in log
    environment = next((each_bench.home / "cache/trees").glob("*/packages.json")).parent
    assert list(environment.glob("wide/__pycache__/*.pyc")) != []
    assert environment.stat().st_mode & 0o222 == 0
    assert not list(each_bench.workspace().glob("box/install"))


def test_the_runtime_wins_and_this_is_logged(bench, index, asking):
    wheel(index, "click", "7.0")
    script = "import click; print('click at', click.__file__)"
    files = asking(bench, script, "# old\nclick==7.0\n")

    outcome = bench.run(files)

    log = bench.log(files)
    assert outcome.reason is Reason.DONE, log
    assert f"click==7.0 (requirements.txt line 2): the runtime's click {CLICK} is used" in log
    import click

    assert f"click at {click.__file__}" in log
    assert [item["why"] for item in report(bench)["changed"]] == ["runtime"]


def test_nonexistent_pin_is_relaxed_alone(bench, index, asking):
    for number in ("1.0", "2.0"):
        wheel(index, "kept", number)
    wheel(index, "gone", "9.0")
    wheel(index, "other-python", "1.0", tag="cp36-cp36m-manylinux1_x86_64")
    wheel(index, "other-python", "3.0")
    text = "kept==1.0\ngone==0.1\nother_python==1.0\n"
    files = asking(
        bench,
        "import kept, gone, other_python as o; print(kept.version, gone.version, o.version)",
        text,
    )

    outcome = bench.run(files)

    log = bench.log(files)
    assert outcome.reason is Reason.DONE, log
    assert "\n1.0 9.0 3.0\n" in log
    message = "gone==0.1 (requirements.txt line 2): cannot be installed here; gone 9.0 is used"
    assert message in log
    assert "kept==1.0 (" not in log


def test_contradicting_pins_are_relaxed_from_the_last(bench, index, asking):
    for number in ("1.0", "2.0"):
        wheel(index, "base", number)
    wheel(index, "upper", "1.0", requires=["base<2"])
    wheel(index, "upper", "2.0", requires=["base>=2"])
    files = asking(
        bench, "import base, upper; print(base.version, upper.version)", "upper==1.0\nbase==2.0\n"
    )

    outcome = bench.run(files)

    assert outcome.reason is Reason.DONE, bench.log(files)
    assert "\n1.0 1.0\n" in bench.log(files)


def test_old_names_and_parts_of_python(bench, index, asking):
    wheel(index, "scikit-image", "1.9", {"skimage/__init__.py": ""})
    wheel(index, "needy", "1.0", requires=["futures", "enum34; python_version < '4'"])
    files = asking(bench, "import skimage, needy", "skimage==0.0\nfutures==3.0\nneedy\n")

    outcome = bench.run(files)

    log = bench.log(files)
    assert outcome.reason is Reason.DONE, log
    renamed = "scikit-image 1.9 is used, its current name"
    assert f"skimage==0.0 (requirements.txt line 1): {renamed}" in log
    assert "futures==3.0 (requirements.txt line 2): not needed" in log


def test_wheels_beside_the_file_are_named_bare(bench, index, asking, tmp_path):
    made = wheel(tmp_path / "beside", "mine", "0.3")
    bucket = bench.home / "store/buckets/bucket/code"
    bucket.mkdir(parents=True)
    shutil.copy(made, bucket)
    (bucket / "pip-requirements.txt").write_text(f"{made.name}\n")
    there = "/home/ma-user/there"
    files = bench.plan(
        "import mine; print('mine', mine.version)",
        fetch=(Fetch("obs://bucket/code", there, "more"),),
        install=(Install(f"{there}/pip-requirements.txt"),),
    )

    assert bench.run(files).reason is Reason.DONE, bench.log(files)
    assert "mine 0.3" in bench.log(files)


SETUP = """
    from setuptools import find_packages, setup
    setup(
        name="trainer",
        version="1.0",
        packages=find_packages(),
        package_data={"trainer": ["*.txt"]},
        install_requires=["deep==0.1", "click==7.0"],
        entry_points={"console_scripts": ["train-it=trainer.task:main"]},
    )
"""


def test_package_is_installed_by_its_setup_py(bench, index, asking):
    wheel(index, "deep", "2.0")
    modules = {
        "setup.py": SETUP,
        "trainer/__init__.py": "",
        "trainer/words.txt": "data of the package",
        "trainer/task.py": """
            import pkgutil
            def main():
                print(pkgutil.get_data("trainer", "words.txt").decode(), __file__)
        """,
    }
    script = """
        import os, subprocess
        os.chdir("/")
        subprocess.run(["train-it"], check=True)
        import deep
        print("deep", deep.version)
    """
    files = asking(bench, script, package=True, modules=modules)

    outcome = bench.run(files)

    log = bench.log(files)
    assert outcome.reason is Reason.DONE, log
    assert "data of the package" in log
    assert "deep 2.0" in log
    assert "deep==0.1 (setup.py): cannot be installed here" in log


def test_the_second_job_finds_the_environment_made(bench, index, asking, tmp_path):
    wheel(index, "deep", "2.0")
    first = bench.run(asking(bench, "import deep", "deep\n"))
    for path in index.iterdir():
        path.unlink()
    shutil.rmtree(tmp_path / "uv-cache")

    bench.job_id = "again" + bench.job_id[5:]
    files = asking(bench, "import deep; print('there', deep.version)", "deep\n")
    second = bench.run(files)

    assert (first.reason, second.reason) == (Reason.DONE, Reason.DONE), bench.log(files)
    assert "packages (cached): deep 2.0" in bench.log(files)


def test_an_environment_in_use_is_not_evicted(bench, index, asking):
    wheel(index, "deep", "2.0")
    bench.run(asking(bench, "import deep", "deep\n"))
    cache = ContentCache(bench.home / "cache", 0)

    cache.evict()
    used = list((bench.home / "cache/trees").glob("*/deep.py"))
    cache.unpin(bench.job_id)
    cache.evict()

    assert len(used) == 1
    assert list((bench.home / "cache/trees").glob("*/deep.py")) == []


def test_nothing_asked_for_installs_nothing(bench, index, asking):
    files = asking(bench, "print('ran')", "# nothing yet\n")
    assert bench.run(files).reason is Reason.DONE
    assert "packages (" not in bench.log(files)

    none = asking(bench, "print('ran')", attempt=2)
    assert bench.run(none).reason is Reason.DONE, bench.log(none)


def test_pip_in_script_installs_for_this_task_only(bench, index, asking):
    wheel(index, "deep", "2.0")
    script = """
        import os, subprocess, sys
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--find-links",
                               sys.argv[1], "deep"])
        assert done.returncode == 0
        import deep
        print("pip brought", deep.version, deep.__file__)
        try:
            open(os.path.join(sys.prefix, "changed"), "w").close()
        except OSError as error:
            print("runtime:", error.strerror)
    """
    files = bench.plan(script, args=(f"file://{index}",))

    assert bench.run(files).reason is Reason.DONE, bench.log(files)
    assert "pip brought 2.0" in bench.log(files)
    assert "runtime: Read-only file system" in bench.log(files)
    assert not Path(sys.prefix, "changed").exists()


def test_two_agents_build_the_same_environment_once(bench, index, asking):
    """Without space for the count in the task's place, the index's folder keeps it."""
    counted = index / "builds"
    setup = f"""
        import time
        from setuptools import setup
        with open({str(counted)!r}, "a") as file:
            file.write("once\\n")
        time.sleep(1)
        setup(name="slow", version="1.0", py_modules=["slow"])
    """
    modules = {"setup.py": setup, "slow.py": "print('slow is here')"}
    script = "import os, sys; sys.path.pop(0); os.chdir('/'); import slow"
    tasks = []
    for _ in range(2):
        tasks.append(asking(bench, script, package=True, modules=modules))
        bench.start(tasks[-1])
        bench.job_id = new_id()
    for process in bench.running:
        process.wait(60)

    assert [task.outcome().reason for task in tasks] == [Reason.DONE] * 2, bench.log(tasks[0])
    lines = [bench.log(task) for task in tasks]
    assert sum("packages (cached): slow 1.0" in log for log in lines) == 1


def test_an_old_version_without_a_wheel_is_built(bench, index, asking):
    wheel_of_installed(index, "setuptools")
    sdist(index, "old", "0.5")
    wheel(index, "old", "3.0")
    files = asking(bench, "import old; print('old', old.version)", "old==0.5\n")

    assert bench.run(files).reason is Reason.DONE, bench.log(files)
    assert "old 0.5" in bench.log(files)
