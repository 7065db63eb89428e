"""What is loaded is out of sight until it is asked for; each test in a Python of its own."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PACKAGE = {
    "changes/__init__.py": """
        import os, sys, warnings
        from changes import inner
        os.environ["CHANGED"] = "1"
        os.environ["FOR_A_MOMENT"] = "1"
        import base64
        del os.environ["FOR_A_MOMENT"]
        warnings.filterwarnings("ignore", "first")
        warnings.filterwarnings("ignore", "last", append=True)
        class Finder:
            def find_spec(*_): return None
        sys.meta_path.append(Finder())
        """,
    "changes/inner.py": "import quopri",
    "changes/other.py": "import changes",
    "alone.py": "def late():\n    import changes.other",
    "talks/__init__.py": """
        import logging, sys
        log = logging.getLogger("talks")
        handler = logging.StreamHandler()
        """,
    "talks/inner.py": "import talks",
}
BEFORE = """
import _warnings, os, sys
from danlu_runtime.warm.modules import Recording
from danlu_runtime.warm.modules import HiddenModules

def state():
    finders = [str(type(one)) for one in sys.meta_path]
    return dict(os.environ), [str(one) for one in _warnings.filters], finders, set(sys.modules)

amended = {}
first = state()
with Recording() as recording:
    import changes, changes.other, alone, talks, talks.inner
    alone.late()
loaded, then = changes, state()
shelf = HiddenModules(recording, lambda name: name == "forgotten", amended)
sys.meta_path.insert(0, shelf)
os.environ.pop("CHANGED")
"""


@pytest.fixture
def run(tmp_path: Path):
    for name, text in PACKAGE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")

    def script(text: str) -> str:
        path = tmp_path / "script.py"
        path.write_text(BEFORE + textwrap.dedent(text), encoding="utf-8")
        done = subprocess.run([sys.executable, path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return script


def test_process_looks_as_if_nothing_had_been_loaded(run):
    script = """
        sys.meta_path.remove(shelf)
        now = state()
        print([a == b for a, b in zip(now, first)], "changes" in now[3])
        """
    assert run(script) == "[True, True, True, True] False\n"


def test_restored_module_has_its_dependencies_and_changes(run):
    script = """
        import changes
        sys.meta_path.remove(shelf)
        now = state()
        print(changes is loaded, "quopri" in now[3], "changes.other" in now[3], "alone" in now[3])
        print([a == b for a, b in zip(now[:3], then)])
        """
    assert run(script) == "True True False False\n[True, True, True]\n"


def test_what_only_function_asked_for_is_not_needed(run):
    script = """
        import alone
        print("changes" in sys.modules)
        alone.late()
        print(sys.modules["changes"] is loaded, hasattr(loaded, "other"))
        """
    assert run(script) == "False\nTrue True\n"


def test_part_of_package_is_out_of_sight_too(run):
    script = """
        import changes
        print(hasattr(changes, "inner"), hasattr(changes, "other"))
        from changes import other
        print("changes.other" in sys.modules)
        """
    assert run(script) == "True False\nTrue\n"


def test_module_is_restored_once_then_loaded(run):
    script = """
        import alone
        first = alone
        del sys.modules["alone"]
        import alone
        print(alone is first)
        """
    assert run(script) == "False\n"


def test_a_namesake_that_comes_first_is_taken(run, tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "alone.py").write_text("WHOSE = 'mine'", encoding="utf-8")
    script = """
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "mine"))
        import alone
        print(alone.WHOSE)
        """
    assert run(script) == "mine\n"


def test_what_is_amended_is_asked_for_again(run):
    script = """
        asked = []
        class Asked:
            def find_spec(self, name, *_):
                asked.append(name)
        sys.meta_path.insert(0, Asked())
        amended["changes.inner"] = True
        import changes
        print(asked, sys.modules["changes.inner"] is changes.inner)
        """
    assert run(script) == "['changes', 'changes.inner'] True\n"


def test_a_module_is_found_where_it_lies(run, tmp_path: Path):
    script = """
        from importlib.util import find_spec
        spec = find_spec("changes")
        print(spec.origin == spec.loader.get_filename(), spec.has_location)
        print(spec.submodule_search_locations, find_spec("alone").submodule_search_locations)
        print("changes" in sys.modules)
        """
    assert run(script) == f"True True\n['{tmp_path / 'changes'}'] None\nFalse\n"


def test_what_script_has_put_in_place_stays_there(run):
    script = """
        import types
        sys.modules["changes.inner"] = mine = types.ModuleType("mine")
        sys.modules["quopri"] = None
        import changes
        print(sys.modules["changes.inner"] is mine, sys.modules["quopri"])
        """
    assert run(script) == "True None\n"


def test_package_of_script_excludes_its_namesake(run, tmp_path: Path):
    (tmp_path / "mine" / "changes").mkdir(parents=True)
    (tmp_path / "mine" / "changes" / "__init__.py").touch()
    script = """
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "mine"))
        try:
            import changes.other
        except ImportError as error:
            print(error)
        """
    assert run(script) == "No module named 'changes.other'\n"


def test_module_that_is_loaded_by_hand_is_whole(run):
    script = """
        from importlib import util
        spec = util.find_spec("alone")
        mine = util.module_from_spec(spec)
        spec.loader.exec_module(mine)
        print(callable(mine.late), "alone" in sys.modules)
        """
    assert run(script) == "True False\n"


def test_module_that_is_loaded_on_use_is_whole(run):
    script = """
        from importlib import util
        spec = util.find_spec("alone")
        spec.loader = util.LazyLoader(spec.loader)
        mine = sys.modules["alone"] = util.module_from_spec(spec)
        spec.loader.exec_module(mine)
        print(callable(mine.late), sys.modules["alone"] is mine)
        """
    assert run(script) == "True True\n"


def test_threads_may_ask_for_modules_at_a_time(run):
    script = """
        import threading
        class Amended:
            def __contains__(self, name):
                if not threads:
                    threads.append(threading.Thread(target=__import__, args=["quopri"]))
                    threads[0].start()
                    threads[0].join(0.2)  # it has to wait
                return False
        threads = []
        shelf._amended = Amended()
        import changes
        threads[0].join()
        print(sys.modules["quopri"].__file__ == changes.inner.quopri.__file__)
        """
    assert run(script) == "True\n"


def test_logger_is_hidden_until_module_import(run):
    script = """
        import logging
        print(logging.root.manager.loggerDict)
        import talks
        print(list(logging.root.manager.loggerDict), logging.getLogger("talks") is talks.log)
        """
    assert run(script) == "{}\n['talks'] True\n"


def test_logger_by_name_is_that_of_module(run):
    script = """
        import logging
        logging.getLogger("talks").setLevel("ERROR")
        import talks
        print(talks.log.level == logging.ERROR, talks.log.parent is logging.root)
        """
    assert run(script) == "True True\n"


def test_handler_writes_to_replaced_standard_error(run):
    script = """
        import io
        sys.stderr = mine = io.StringIO()
        import talks
        print(talks.handler.stream is mine)
        """
    assert run(script) == "True\n"
