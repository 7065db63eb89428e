"""The command line of a preset model, read and checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from danlu.job import presets
from moxing.tensorflow.nets.nets_factory import find_network


@dataclass(frozen=True)
class Asked:
    """The arguments of a preset model.

    ``values`` has every parameter of the table; ``given`` has the names of those on the command
    line.
    """

    name: str
    data_url: str
    train_url: str
    checkpoint_url: str
    values: dict[str, Any]
    given: frozenset[str]

    def __getitem__(self, parameter: str) -> Any:
        return self.values[parameter]

    @property
    def evaluates(self) -> bool:
        return bool(self["run_mode"] == "eval")

    @property
    def image_size(self) -> int:
        return self["image_size"] or find_network(self.name).size

    @property
    def eval_batch_size(self) -> int:
        return self["eval_batch_size"] or self["batch_size"]


def read(name: str, argv: Sequence[str]) -> Asked:
    """Return the arguments on a command line.

    Raises:
        ValueError: the network is unknown, or arguments are wrong; the message lists all of them.
    """
    find_network(name)
    words = _pairs(argv)
    places = {channel: words.pop(channel, "") for channel in presets.CHANNELS}
    wrong = [f"--{field} {sentence}" for field, sentence in presets.faults(words)]
    values = {} if wrong else presets.values(words)
    needed = ["data_url", "train_url"]
    needed += ["checkpoint_url"] if values.get("run_mode") == "eval" else []
    wrong += [
        f"--{place}=… must name a place, got nothing." for place in needed if not places[place]
    ]
    if wrong:
        raise ValueError("\n".join(wrong))
    given = frozenset(presets.SAME.get(word, word) for word, text in words.items() if text)
    return Asked(
        *(name, places["data_url"], places["train_url"], places["checkpoint_url"]), values, given
    )


def _pairs(argv: Sequence[str]) -> dict[str, str]:
    """Return ``--name=value`` and ``--name value`` by name; ``--name`` alone is 'true'."""
    found: dict[str, str] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        name, equals, text = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not name:
            raise ValueError(f"{word!r} is not understood: write --name=value.")
        if not equals and words and not words[0].startswith("--"):
            text = words.pop(0)
        elif not equals:
            text = "true"
        found[name] = text
    return found
