#!/usr/bin/env bash
# Makes the shipped benchmark again, offline, and compares it byte for byte; exit code 1 where it differs.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${BIASLENS_PYTHON:-.venv/bin/python}
[ -x "$python" ] || bash scripts/setup.sh

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
seed=$(sed -n 's/^seed = //p' benchmark/benchmark.toml)
"$python" -m biaslens generate --with encounters --encounters benchmark/encounters --seed "$seed" --out "$made/benchmark"

different=0
for name in roles.csv questions.csv benchmark.toml; do
    if cmp "$made/benchmark/$name" "benchmark/$name"; then
        echo "benchmark/$name: the same"
    else
        different=1
    fi
done
exit "$different"
