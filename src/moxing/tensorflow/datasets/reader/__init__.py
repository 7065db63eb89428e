"""How the bytes of files are read; ``raw_reader`` is a path scripts import."""
