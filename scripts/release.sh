#!/usr/bin/env bash
# Makes and checks what is released: version and changelog agree, everything passes, and the wheel works in a bare environment.
# Prints what is left to do; publishes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "release: $1" >&2; exit 1; }
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' biaslens/__init__.py)
[ -z "$(git status --porcelain)" ] || fail "commit or stash first: git status shows changes"
grep -q "^## $version, 20[0-9-]*$" CHANGELOG.md || fail "CHANGELOG.md has no heading '## $version, DATE'"
grep -q "^version: $version$" CITATION.cff || fail "CITATION.cff names another version than $version"
git rev-parse -q --verify "refs/tags/v$version" >/dev/null && fail "there is a tag v$version already; raise biaslens/__init__.py"
if [ "${1:-}" != --no-tests ]; then bash .ci/run; fi

bash scripts/setup.sh dev
rm -rf dist
.venv/bin/python -m build --outdir dist .
bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT
"${PYTHON:-python3}" -m venv "$bare/venv"
"$bare/venv/bin/python" -m pip install --quiet --no-compile -c constraints.txt dist/biaslens-"$version"-*.whl
cd "$bare"
[ "$("$bare/venv/bin/biaslens" --version)" = "biaslens, version $version" ] || fail "the wheel names another version"
"$bare/venv/bin/biaslens" check >/dev/null || fail "the shipped benchmark does not pass its check from the wheel"
"$bare/venv/bin/biaslens" plan local/smollm2 --roles-per-attribute 1 >/dev/null || fail "the wheel cannot plan"
cd - >/dev/null
echo "dist/ is ready. Left: git tag v$version, push it, and upload dist/ to the package index."
