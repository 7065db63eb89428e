"""Where tasks run. Start reading at ``api.py``."""
