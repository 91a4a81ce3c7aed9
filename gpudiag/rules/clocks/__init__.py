"""Clocks, heat, power and hangs."""
