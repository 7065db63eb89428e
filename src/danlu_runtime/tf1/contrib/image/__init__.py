"""tf.contrib.image: rotations and other transforms, warps, colours in YIQ."""

from danlu_runtime.tf1.contrib.image.color import adjust_hsv_in_yiq, random_hsv_in_yiq
from danlu_runtime.tf1.contrib.image.projective import (
    angles_to_projective_transforms,
    compose_transforms,
    flat_transforms_to_matrices,
    matrices_to_flat_transforms,
    rotate,
    transform,
    translate,
    translations_to_projective_transforms,
)
from danlu_runtime.tf1.contrib.image.warp import (
    dense_image_warp,
    interpolate_spline,
    sparse_image_warp,
)

GONE = {
    "bipartite_match": "Use scipy.optimize.linear_sum_assignment in tf.py_func.",
    "connected_components": "Use scipy.ndimage.label in tf.py_func.",
    "single_image_random_dot_stereograms": "Draw the picture before training.",
}

__all__ = [
    "adjust_hsv_in_yiq",
    "angles_to_projective_transforms",
    "compose_transforms",
    "dense_image_warp",
    "flat_transforms_to_matrices",
    "interpolate_spline",
    "matrices_to_flat_transforms",
    "random_hsv_in_yiq",
    "rotate",
    "sparse_image_warp",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]
