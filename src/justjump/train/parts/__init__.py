"""Training on graphs in parts: from disk, or by several processes, with the same bits."""
