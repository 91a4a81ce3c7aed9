"""What holds for the whole tree: who may import whom, who may ask for the time, what is locked."""
