from setuptools import find_packages, setup

setup(name='trainer', version='1.0', packages=find_packages())
