#!/usr/bin/env bash
# Makes everything in results/: the embedded model's run on a slice of the benchmark, and, where the published study's
# data release is at hand (BIASLENS_RELEASE, or ../shared/release), its tables worked out again and scored anew.
set -euo pipefail
cd "$(dirname "$0")/.."
biaslens=.venv/bin/biaslens
[ -x "$biaslens" ] || bash scripts/setup.sh

# Why answers are left out: the embedded model takes long to write them. Shuffled options show where it goes by their position.
"$biaslens" evaluate local/smollm2 --run runs/embedded.sqlite --roles-per-attribute 5 --questions-per-kind 3 \
    --kind yes_no --kind choice --condition role --condition no_role --trials 3 --shuffle-options --max-tokens 60
"$biaslens" publish runs/embedded.sqlite --out results  # git ignores its figures and its page

release=${BIASLENS_RELEASE:-../shared/release}
if [ ! -d "$release" ]; then
    echo "results/published is left as it is: no release in $release; set BIASLENS_RELEASE to its folder"
    exit 0
fi
"$biaslens" import published "$release" --out runs
for folder in labels/published-*; do
    run=runs/${folder##*/}.sqlite
    if [ -f "$run" ]; then "$biaslens" labels import "$run" "$folder"; fi
done
"$biaslens" reproduce runs --out results/published --labels labels
"$biaslens" publish runs/published-*.sqlite --out runs/published
# Roles and questions of the study are its data: tables and pages that list them stay in runs/.
mkdir -p results/published/analyses
for name in rates rates_by_target ablation consistency variance abstention abstention_by_target corrected judges comparison \
    comparison_pairs triggers; do
    cp "runs/published/analyses/$name.csv" results/published/analyses/
done
cp runs/published/leaderboard.csv runs/published/leaderboard_by_attribute.csv results/published/
cp -r runs/published/tables results/published/
echo "results/published: the study, scored anew; figures and its page with roles: runs/published/"
