"""The version of the package, recorded with every run."""

__version__ = "0.2.0"
