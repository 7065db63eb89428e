"""Other training loops: the same model and data, in every common way to write the loop."""
