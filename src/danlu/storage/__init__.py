"""Where bytes live. Start reading at ``api.py``."""
