"""Who else trains: the same model and data, in every way a person would have written the loop."""
