"""Whether we can see at all."""
