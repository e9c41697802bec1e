"""Decide the outcome of an answer."""
