"""Measure the social bias of language models when they play a role."""

__version__ = "0.1.0"
