"""ImageNet in stages: small images in large batches first, larger ones later."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.base import BaseDataset, iterator_of
from moxing.tensorflow.datasets.tfrecord.metadata import ImageClassificationTFRecordMetadata
from moxing.tensorflow.datasets.tfrecord.records import ImageClassificationTFRecordDataset

# File pattern with its folder, batch size, image size, smallest area of a crop.
Stage = tuple[str, int, int, float]


class ProgressiveImagenetDataset(BaseDataset):
    """Features ``image`` (uint8) and ``label`` in batches, made by one stage after the other.

    The next stage of ``strategy_spec`` begins at each of ``ds_switch_steps``, by the global step:
    a training that is taken up again goes on with the stage it was in. Images are JPEG files, cut
    and turned at random.
    """

    def __init__(
        self,
        num_samples: int,
        strategy_spec: Sequence[Stage],
        ds_switch_steps: Sequence[int] = (),
        shuffle: bool = True,
        num_parallel: int = 8,
        labels_offset: int = 0,
        private_num_threads: int = 0,
        shuffle_buffer_size: int = 6400,
        **options: Any,
    ) -> None:
        _check(strategy_spec, ds_switch_steps)
        self._stages = [
            ImageClassificationTFRecordDataset(
                _metadata(pattern, num_samples),
                batch_size=int(batch_size),
                preprocess_fn=_distorted(int(size), least_area, labels_offset),
                shuffle=shuffle,
                num_parallel=num_parallel,
                private_num_threads=private_num_threads,
                shuffle_buffer_size=shuffle_buffer_size,
                **options,
            )
            for pattern, batch_size, size, least_area in strategy_spec
        ]
        self._switches = list(ds_switch_steps)
        super().__init__(self._stages[0].metadata, shuffle=shuffle)

    def _next(self) -> dict[str, Any]:
        *early, last = [
            iterator_of(stage._batches(stage._records.dataset())) for stage in self._stages
        ]
        if not early:
            return last.get_next()
        step = tf.train.get_or_create_global_step()
        cases = [
            (tf.less(step, tf.cast(switch, step.dtype)), _values_of(iterator))
            for switch, iterator in zip(self._switches, early, strict=True)
        ]
        image, label = tf.case(cases, default=_values_of(last))
        image.set_shape([None, None, None, 3])
        label.set_shape([None])
        return {"image": image, "label": label}


def _values_of(iterator: Any) -> Callable[[], list[tf.Tensor]]:
    def values() -> list[tf.Tensor]:
        features = iterator.get_next()
        return [features["image"], features["label"]]

    return values


def _check(stages: Sequence[Stage], switches: Sequence[int]) -> None:
    if not stages or any(len(stage) != 4 for stage in stages):
        raise ValueError(
            "strategy_spec is a list of (file_pattern, batch_size, image_size, min_area), "
            f"got {stages!r}."
        )
    if len(switches) != len(stages) - 1 or list(switches) != sorted(switches):
        raise ValueError(
            f"{len(stages)} stages of strategy_spec need {len(stages) - 1} rising steps in "
            f"ds_switch_steps, got {list(switches)}."
        )


def _metadata(pattern: str, num_samples: int) -> ImageClassificationTFRecordMetadata:
    folder, _, name = pattern.rpartition("/")
    return ImageClassificationTFRecordMetadata(folder or ".", name, num_samples=num_samples)


def _distorted(size: int, least_area: float, labels_offset: int) -> Callable[..., Any]:
    def change(data: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        begin, extent, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(data),
            tf.zeros([1, 0, 4]),
            min_object_covered=0.0,
            aspect_ratio_range=(3 / 4, 4 / 3),
            area_range=(least_area, 1.0),
            max_attempts=100,
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.concat([begin[:2], extent[:2]], 0)
        image = tf.image.decode_and_crop_jpeg(data, window, channels=3)
        image = tf.image.resize_images(image, [size, size])
        image = tf.image.random_flip_left_right(tf.saturate_cast(tf.round(image), tf.uint8))
        return image, label - labels_offset

    return change
