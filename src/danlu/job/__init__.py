"""The job model: what was asked, what will run, what happened. Plain values, no I/O."""
