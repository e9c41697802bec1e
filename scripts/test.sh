#!/usr/bin/env bash
# Sets up on a bare machine and runs the tests, a process for each core and one more, since many tests wait for a server
# or a child; arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh dev
python=${BIASLENS_VENV:-.venv}/bin/python
# Many tests start Python: without its cache each of them would compile again whatever it imports.
unset PYTHONDONTWRITEBYTECODE
# The cores are taken by the processes already; threads of each would wait for each other.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec "$python" -m pytest -n "$("$python" -c 'import os; print(os.cpu_count() + 1)')" --dist worksteal "$@"
