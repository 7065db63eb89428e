"""Setup script with which KDL installs the trainer package."""

from setuptools import setup  # type: ignore[import-untyped, unused-ignore]

setup(name="danlu-demo-trainer", version="1.0", packages=["trainer"])
