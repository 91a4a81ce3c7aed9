"""What one pasted sample can and cannot show."""
