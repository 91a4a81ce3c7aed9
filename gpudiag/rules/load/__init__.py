"""What the GPU does with the work that is asked of it."""
