"""``mox.get_model_fn`` and ``mox.get_model_meta``: networks by name."""

from collections.abc import Callable
from typing import Any, NamedTuple

from danlu.errors import Unsupported
from moxing.tensorflow.nets import checks
from moxing.tensorflow.nets.zoo import NETWORKS

_LAYOUTS = ("NHWC", "NCHW")


class NetworkKeys:
    """The names of all networks: ``NetworkKeys.RESNET_V1_50`` is ``'resnet_v1_50'``."""


for _name in NETWORKS:
    setattr(NetworkKeys, _name.upper(), _name)


class ModelMeta(NamedTuple):
    """What is to be known about a network before it is built."""

    default_image_size: int
    default_labels_offset: int
    default_logits_pattern: str


def get_model_meta(name: str) -> ModelMeta:
    """Return what ``name`` wants: the size of its pictures, the offset of its labels.

    Raises:
        ValueError: there is no network of this name.
    """
    network = checks.network(name)
    return ModelMeta(network.size, network.labels_offset, network.logits)


def default_preprocess_fn(images: Any, run_mode: str, family: str = "vgg") -> Any:
    """Return pictures of 0..255 as the networks of a family were trained on them."""
    from moxing.tensorflow.nets.pictures import normalized

    return normalized(images, family)


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
        Unsupported: the architecture was never published.
    """
    network = checks.network(name)
    mode = checks.mode(run_mode)
    if not network.builder:
        raise Unsupported(
            f"The network {name} is not there: its architecture was never published.",
            hint="Take one that is, e.g. mox.NetworkKeys.RESNET_V1_50.",
        )
    if data_format not in _LAYOUTS:
        raise ValueError(f"data_format must be one of 'NHWC', 'NCHW', got {data_format!r}.")
    warmup = bool(kwargs.pop("batch_norm_warmup", False))
    checks.options(f"The network {name}", kwargs, network.options)
    classes = checks.count("num_classes", num_classes)
    asked_size = tuple(
        None if value is None else checks.count(word, value)
        for word, value in (("image_height", image_height), ("image_width", image_width))
    )

    def network_fn(images: Any) -> tuple[Any, dict[str, Any]]:
        from moxing.tensorflow.nets.building import Asked, build

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
