from setuptools import setup

setup(name="trainer", version="1.0", packages=["trainer"])
