#!/usr/bin/env bash
# The whole fault campaign: what each fault of a server comes to, and chains of 50 kills. Takes about half an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
export PYTHONPATH=$PWD
"$python" tests/fault_table.py
"$python" tests/kill_chain.py "$@"
