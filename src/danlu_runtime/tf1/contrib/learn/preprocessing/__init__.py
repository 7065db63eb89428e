"""`tf.contrib.learn.preprocessing`."""

from danlu_runtime.tf1.contrib.learn.preprocessing.categorical import CategoricalProcessor
from danlu_runtime.tf1.contrib.learn.preprocessing.categorical_vocabulary import (
    CategoricalVocabulary,
)
from danlu_runtime.tf1.contrib.learn.preprocessing.text import (
    ByteProcessor,
    VocabularyProcessor,
    tokenizer,
)
