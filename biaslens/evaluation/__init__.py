"""The role-play run."""
