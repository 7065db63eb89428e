"""``mox.get_data_augmentation_fn``: the augmentation of pictures for a network."""

from collections.abc import Callable
from typing import Any

from moxing.tensorflow.nets import nets_factory
from moxing.tensorflow.nets.zoo import NETWORKS

_FAMILIES = {
    "inception": ("inception", 299),
    "vgg": ("vgg", 224),
    **{name: (network.preprocessing, network.size) for name, network in NETWORKS.items()},
}
_OPTIONS = {
    "vgg": ("resize_side_min", "resize_side_max"),
    "inception": ("bbox", "fast_mode"),
    "cifarnet": ("padding",),
    "lenet": (),
}


class PreprocessingKeys:
    """The names there is an augmentation for: all networks, and two families."""


for _name in _FAMILIES:
    setattr(PreprocessingKeys, _name.upper(), _name)


def get_data_augmentation_fn(
    name: str,
    run_mode: str,
    output_height: int | None = None,
    output_width: int | None = None,
    **kwargs: Any,
) -> Callable[[Any], Any]:
    """Return a function of one picture [height, width, channels] of 0..255, of any type.

    What it returns is float32, of 0..255 too and of the size asked for, else of the network's own:
    normalising is the network's work. In training the picture is changed at random, in all other
    modes it is cut and resized only. ``kwargs``: ``resize_side_min``, ``resize_side_max`` (vgg);
    ``bbox``, ``fast_mode`` (inception); ``padding`` (cifarnet).

    Raises:
        ValueError: there is no such name or mode, or a size is no count.
    """
    family, usual = _FAMILIES[nets_factory.preprocessing(name, _FAMILIES)]
    mode = nets_factory.check_mode(run_mode)
    size = (
        nets_factory.count("output_height", usual if output_height is None else output_height),
        nets_factory.count("output_width", usual if output_width is None else output_width),
    )
    nets_factory.options(f"The augmentation of {name} ({family})", kwargs, _OPTIONS[family])

    def augment(image: Any) -> Any:
        from moxing.tensorflow.preprocessing import families

        return families.augment(image, family, mode, size, kwargs)

    return augment
