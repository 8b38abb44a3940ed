"""The paper's evaluation, and searches like it."""
