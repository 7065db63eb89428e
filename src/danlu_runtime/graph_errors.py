"""The one line that matters of TensorFlow's long messages, with the user's own line.

An error of a running graph comes with the whole stack of each node. What is kept: the first line
of what is wrong, which node, and where in the user's files that node was made. Written for the
messages of TensorFlow 2.21 and tf-keras 2.21; any other text is returned as it is.
"""

import re
from collections.abc import Callable

# Returns 'model.py:12' for a file of the user's, "" for any other.
Place = Callable[[str, int], str]

_NODES = "\n\t [[{{node "
_GRAPH = "Graph execution error:"
_RESTORE = "Restoring from checkpoint failed"
_AUTOGRAPH = "in user code:"
_FIRST_MADE = re.compile(r"(?<!\s)\s*Originally defined at:\s*\n")
_FILE = re.compile(r'^[^\S\n]*File "([^"]+)", line (\d+)', re.MULTILINE)
_NODE = re.compile(
    r"Detected at node '?(?P<node>[^'\n]{1,1000}?)'? defined at \(most recent call last\):\n"
    r"(?P<stack>(?:\s*File \"[^\n]*\n)*)(?:Node: '[^\n]*\n)?"
)
_SEVERAL = re.compile(r"\b\d+ root error\(s\) found\.\n\s*\(0\)\s+(?:[A-Z_]+: +)?")
_EAGER = re.compile(r"^\{\{function_node [^}]*\}\} | \[Op:\w+\](?: name: \S*)?\s*$")
# A function of a tf.data pipeline: where in the pipeline it is tells nobody anything.
_PIPELINE = re.compile(
    r"^(?:Error in user-defined function passed to \S+ transformation with iterator: \S+: )+"
)
_RAISED = re.compile(r"^    \w+(?:\.\w+)*: (?P<said>.+)", re.MULTILINE)


def brief(text: str, place: Place, variable: str = "") -> str:
    """Return the message in one line; ``variable`` is what the failed node assigns, if known."""
    before, of_graph, rest = text.partition(_GRAPH)
    if of_graph:
        restored = f"{_RESTORE}: " if before.startswith(_RESTORE) else ""
        return restored + _of_graph(rest, place, variable)
    if text.startswith(_AUTOGRAPH) and (raised := list(_RAISED.finditer(text))):
        return raised[-1]["said"] + _made("; at", text, place)
    said, *stack = _FIRST_MADE.split(text, maxsplit=1)
    if stack:
        return said + _made("; it was made at", stack[0], place, innermost=0)
    return _EAGER.sub("", text.partition(_NODES)[0])


def _of_graph(text: str, place: Place, variable: str) -> str:
    node = _NODE.search(text)
    said = _SEVERAL.sub("", _NODE.sub("", text).strip())
    line = _PIPELINE.sub("", _EAGER.sub("", said.partition("\n")[0].strip()))
    if variable:
        line += f"; variable '{variable}'"
    if node is None:
        return line
    return line + _made(f"; node '{node['node']}' is made at", node["stack"], place)


def _made(what: str, stack: str, place: Place, innermost: int = -1) -> str:
    """Say where the innermost of the user's own lines is; a stack begins with the outermost."""
    places = [place(file, int(line)) for file, line in _FILE.findall(stack)]
    own = [found for found in places if found]
    return f"{what} {own[innermost]}" if own else ""
