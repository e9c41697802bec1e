"""The run file's store by its former name, for what has not followed it yet."""

from biaslens.runfile import Answer, Failure, Store, storage_errors

__all__ = ["Answer", "Failure", "Store", "storage_errors"]
