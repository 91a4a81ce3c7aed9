"""Settings of the host that cost speed or hide facts."""
