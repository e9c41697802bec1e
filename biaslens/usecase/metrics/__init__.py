"""The metrics: pure functions on plain lists and arrays, and what each unit adds to them."""
