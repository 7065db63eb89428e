"""Data sets in folders of images.

``folders``: metadata: one directory per class, or several labels per image.
``classification``, ``pipeline``: the data sets as tensors; reading, decoding and batching.
``split``: splits a folder of images in two.
``raw_dataset``: the path that scripts import.
"""
