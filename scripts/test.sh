#!/usr/bin/env bash
# Sets up on a bare machine and runs the tests; arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh dev
exec .venv/bin/python -m pytest "$@"
