"""Small things scripts import from MoXing."""
