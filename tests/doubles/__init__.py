"""Stand-ins for the outside world."""
