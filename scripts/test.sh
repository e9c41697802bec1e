#!/usr/bin/env bash
# Sets up on a bare machine and runs the tests, a process for each core; arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh dev
# The cores are taken by the processes already; threads of each would wait for each other.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec "${BIASLENS_VENV:-.venv}/bin/python" -m pytest -n auto --dist worksteal "$@"
