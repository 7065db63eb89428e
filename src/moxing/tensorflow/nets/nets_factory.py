"""``mox.get_model_fn`` and ``mox.get_model_meta``: networks by name, and checks of arguments."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from danlu.errors import Unsupported, suggestion
from danlu.job import presets
from danlu.messages import get_message
from moxing.tensorflow.executor.request import RUN_MODES, ModeKeys, mode_of
from moxing.tensorflow.nets.zoo import NETWORKS, Network

_MODES = (*RUN_MODES, ModeKeys.EXPORT)


def find_network(name: Any) -> Network:
    if not isinstance(name, str) or name not in NETWORKS:
        raise ValueError(_unknown("network", name, NETWORKS))
    return NETWORKS[name]


def preprocessing(name: Any, known: Iterable[str]) -> str:
    if not isinstance(name, str) or name not in known:
        raise ValueError(_unknown("preprocessing", name, known))
    return name


def check_mode(given: Any) -> str:
    """Return the mode for a value; unlike in ``mox.run``, EXPORT is accepted too."""
    found = ModeKeys.EXPORT if str(given).upper() == ModeKeys.EXPORT else mode_of(given)
    if found is None:
        modes = ", ".join(f"mox.ModeKeys.{each}" for each in _MODES)
        raise ValueError(f"run_mode must be one of {modes}, got {given!r}.")
    return found


def count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value.__index__())


def options(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        has = ", ".join(known) or "none"
        raise TypeError(f"{what} has no option {unknown[0]!r}; its options: {has}.")


def _unknown(kind: str, name: Any, known: Iterable[str]) -> str:
    return f"There is no {kind} named {name!r}. {suggestion(str(name), known)}"


_LAYOUTS = ("NHWC", "NCHW")


class NetworkKeys:
    """The names of all networks: ``NetworkKeys.RESNET_V1_50`` is ``'resnet_v1_50'``."""


for _name in NETWORKS:
    setattr(NetworkKeys, _name.upper(), _name)


class ModelMeta(NamedTuple):
    """Properties of a network that are known before it is built."""

    default_image_size: int
    default_labels_offset: int
    default_logits_pattern: str


def get_model_meta(name: str) -> ModelMeta:
    """Return what ``name`` wants: the size of its pictures, the offset of its labels.

    Raises:
        ValueError: there is no network of this name.
    """
    network = find_network(name)
    return ModelMeta(network.size, network.labels_offset, network.logits)


def default_preprocess_fn(images: Any, run_mode: str, family: str = "vgg") -> Any:
    """Return pictures of 0..255 as the networks of a family were trained on them."""
    from moxing.tensorflow.nets.building import normalized

    return normalized(images, family)


@dataclass(frozen=True)
class Asked:
    """The arguments of one ``mox.get_model_fn``, checked."""

    name: str
    network: Network
    mode: str
    num_classes: int
    weight_decay: float
    data_format: str
    fused: bool
    renorm: bool
    warmup: bool
    size: tuple[int | None, ...]
    preprocess_fn: Callable[..., Any] | None
    options: Mapping[str, Any]


def get_model_fn(
    name: str,
    run_mode: str,
    num_classes: int,
    weight_decay: float = 0.0,
    data_format: str = "NHWC",
    batch_norm_fused: bool = False,
    batch_renorm: bool = False,
    image_height: int | None = None,
    image_width: int | None = None,
    preprocess_fn: Callable[..., Any] | None = default_preprocess_fn,
    **kwargs: Any,
) -> Callable[[Any], tuple[Any, dict[str, Any]]]:
    """Return a function of a batch of NHWC pictures (0..255) that gives logits and end points.

    ``preprocess_fn(images, run_mode)`` takes the place of the network's own normalisation and,
    where NCHW is asked for, of the change of layout; None leaves the pictures as they are. When a
    model is exported or predicts, pictures of another size are resized to ``image_height`` and
    ``image_width``; where these are not given, an export takes the size the pictures have, or the
    network's own (manual, pitfall 4-1-1).

    Of our own making: ``batch_norm_warmup`` lets the statistics of batches follow fast in the first
    steps. Their networks forget so slowly that a training of some hundred steps is evaluated with
    the statistics it began with.

    Raises:
        ValueError: there is no such network, mode or layout, or ``num_classes`` is no count.
        Unsupported: Danlu does not build the network.
    """
    network = find_network(name)
    mode = check_mode(run_mode)
    if not network.builder:
        why = get_message(presets.NOT_BUILT[name])
        raise Unsupported.from_key("moxing.no_network", name=name, why=why)
    if data_format not in _LAYOUTS:
        raise ValueError(f"data_format must be one of 'NHWC', 'NCHW', got {data_format!r}.")
    warmup = bool(kwargs.pop("batch_norm_warmup", False))
    options(f"The network {name}", kwargs, network.options)
    classes = count("num_classes", num_classes)
    asked_size = tuple(
        None if value is None else count(word, value)
        for word, value in (("image_height", image_height), ("image_width", image_width))
    )

    def network_fn(images: Any) -> tuple[Any, dict[str, Any]]:
        from moxing.tensorflow.nets.building import build

        asked = Asked(
            *(name, network, mode, classes, float(weight_decay or 0.0), data_format),
            fused=bool(batch_norm_fused),
            renorm=bool(batch_renorm),
            warmup=warmup,
            size=asked_size,
            preprocess_fn=preprocess_fn,
            options=kwargs,
        )
        return build(asked, images)

    network_fn.default_image_size = network.size  # type: ignore[attr-defined]  # as TF-slim's has
    return network_fn
