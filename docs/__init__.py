"""Guides, decisions and the generated rule reference."""
