"""The API as its clients meet it: real HTTP, a real store, a clock of our own."""
