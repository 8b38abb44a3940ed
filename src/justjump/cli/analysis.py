"""See what a trained network does."""
