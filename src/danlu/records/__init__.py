"""What is remembered of jobs. Start reading at ``api.py``."""
