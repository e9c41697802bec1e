#!/usr/bin/env bash
# Sets up on a bare machine, evaluates the embedded model on a slice of the benchmark and shows the result.
# No key, no server, no network but the package index.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
biaslens=.venv/bin/biaslens
run=runs/demo.sqlite

"$biaslens" evaluate local/smollm2 --run "$run" --roles-per-attribute 1 --questions-per-kind 1 --trials 3 \
    --max-tokens 160 --judge local/screen
"$biaslens" leaderboard "$run" --out runs/demo
"$biaslens" export "$run" --format csv --out runs/demo/responses.csv
echo
echo "Leaderboard row:  runs/demo/leaderboard.csv"
echo "Every answer:     runs/demo/responses.csv"
echo "In a browser:     $biaslens view $run"
echo "The run file:     $run  (any SQLite tool opens it; the same command asks only what is missing)"
