"""Memory errors, Xids and devices that fail."""
