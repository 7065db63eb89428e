"""tf.contrib.tensorboard.plugins.projector: which variables TensorBoard shows as points.

TensorBoard's own function still takes the ``tf.summary.FileWriter`` of old scripts.
"""

from tensorboard.plugins.projector import (
    EmbeddingInfo,
    ProjectorConfig,
    SpriteMetadata,
    visualize_embeddings,
)

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]
