"""Make, check and read a benchmark."""
