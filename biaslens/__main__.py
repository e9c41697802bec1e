"""``python -m biaslens`` is the command line."""

from biaslens.cli import main

main()
