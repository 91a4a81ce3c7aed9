"""What the memory holds, for whom, and whether that is normal."""
