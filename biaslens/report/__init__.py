"""Files and tables for people."""
