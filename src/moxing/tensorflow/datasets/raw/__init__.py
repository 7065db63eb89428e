"""Folders of images; ``raw_dataset`` is a path scripts import."""
