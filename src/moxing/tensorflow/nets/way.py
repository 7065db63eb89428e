"""How a network is built: what the caller of ``mox.get_model_fn`` decides."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Way:
    """The same for all layers of one network."""

    is_training: bool
    data_format: str = "NHWC"
    weight_decay: float = 0.0
    fused: bool = False
    renorm: bool = False
    follow: Any = None  # the least share of a batch in moving statistics: a number, or a tensor

    @property
    def channel_axis(self) -> int:
        return 3 if self.data_format == "NHWC" else 1

    @property
    def spatial_axes(self) -> tuple[int, int]:
        return (1, 2) if self.data_format == "NHWC" else (2, 3)

    def over_picture(self, height: int, width: int) -> list[int]:
        """Return one number for each dimension of a batch, as TensorFlow wants strides."""
        return [1, height, width, 1] if self.data_format == "NHWC" else [1, 1, height, width]
