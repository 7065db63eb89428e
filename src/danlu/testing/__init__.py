"""Contracts every dialect, storage, executor and record store must pass, and fakes."""
