"""What is remembered, on SQLite and on PostgreSQL."""
