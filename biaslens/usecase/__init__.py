"""Assess one's own use of a model: which metrics apply to it, and what they say."""
