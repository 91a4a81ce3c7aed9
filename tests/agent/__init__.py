"""The agent against a stand-in for the driver, small /proc and /sys trees, and a clock that can run fast."""
