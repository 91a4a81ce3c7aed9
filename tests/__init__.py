"""Everything is tested from outside; doubles stand in for the driver, the chat system and the engines."""
