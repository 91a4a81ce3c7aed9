"""What several nodes show together."""
