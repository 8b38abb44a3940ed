"""The paper as data, and runs of its evaluation."""
