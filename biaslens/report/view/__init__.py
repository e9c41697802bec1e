"""Look at every answer of some runs in a browser."""
