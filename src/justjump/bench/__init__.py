"""Speed and memory side by side with PyTorch Geometric."""
