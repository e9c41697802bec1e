"""Seconds of the text metrics of a use case beside LangFair's, in one run on one machine.

    python scripts/bench/usecase.py --langfair ENV/bin/python    # 10,000 responses of 56 words
    python scripts/bench/usecase.py --responses 1000             # fewer; without --langfair, this package alone
    python scripts/bench/usecase.py --stream 1000000             # only: so many responses in chunks, time and memory

Both sides get the same texts, groups, targets and stop words; the texts are made here, seeded, from the word lists of
this package. LangFair lives in an environment of its own, in which it must import: its fresh install does not
(pyarrow==19.0.1 and numpy<2 are needed). Its part is `usecase_langfair.py`, run by that interpreter while this side
waits. Time is that of the metric on texts in memory: imports, models and word lists are nobody's. Numbers are compared
where `variant="langfair"` defines them: ROUGE-L and BLEU are not, since masking, stemming and words differ.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from biaslens.usecase._lexicon import find
from biaslens.usecase._tokens import marked, tokenise, words_of
from biaslens.usecase.metrics._association import (
    adjectives,
    cobs,
    cooccurrences,
    default_stop_words,
    professions,
    sa_sums,
    stereotypical_associations,
)
from biaslens.usecase.metrics._scores import scsp, vader, wcsp
from biaslens.usecase.metrics._similarity import bleu_scores, pair_tokens, rouge_l_scores

WORDS = 56
CHUNK = 20_000
NEGATIVE = 0.05
"""Threshold of weak parity: of the negative share, which is small in these texts."""
WOMEN = words_of(
    "she her hers herself woman women girl girls mother mothers daughter daughters sister sisters wife wives"
)
MEN = words_of("he him his himself man men boy boys father fathers son sons brother brothers husband husbands")
# NLTK cuts "cannot" in two, so that words would be numbered in different ways.
OFTEN = [word for word in default_stop_words() if word != "cannot" and word not in {*WOMEN, *MEN}]
THINGS = """
house work day office letter friend town question table street morning garden project meeting book window
answer story train school idea number plan kitchen bridge music money question river market paper team road
"""
DOES = """
said went worked asked saw helped wrote walked called knew made took found met left brought told kept began
liked showed heard stayed moved spoke listened agreed
"""
TARGETS = [*adjectives(), *professions()]


def texts_of(count: int, seed: int) -> Iterator[str]:
    """Responses of 56 words in sentences of 7, with what English has: half stop words, some people, some targets."""
    generator = np.random.default_rng(seed)
    pools = [OFTEN, THINGS.split(), DOES.split(), WOMEN, MEN, adjectives(), professions()]
    shares = np.array([0.46, 0.18, 0.14, 0.05, 0.05, 0.08, 0.04])
    sizes = np.array([len(pool) for pool in pools])
    words = np.concatenate([np.array(pool, dtype=object) for pool in pools])
    before = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for start in range(0, count, CHUNK):
        shape = (min(CHUNK, count - start), WORDS)
        kinds = generator.choice(len(pools), size=shape, p=shares)
        drawn = words[before[kinds] + (generator.random(shape) * sizes[kinds]).astype(int)]
        for row in drawn:
            sentences = (" ".join(row[at : at + 7]).capitalize() for at in range(0, WORDS, 7))
            yield ". ".join(sentences) + "."


def timed(work: Callable[[], object]) -> tuple[float, object]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def here(responses: list[str]) -> dict[str, tuple[float, object]]:
    """Seconds and numbers of this package, `variant="langfair"` where there is one."""
    groups = {"women": WOMEN, "men": MEN}
    half = len(responses) // 2
    a, b = responses[:half], responses[half : 2 * half]

    def pairs() -> dict[str, float]:
        sides = pair_tokens(a, b, protected=[*WOMEN, *MEN])
        found = {"ROUGE-L": float(rouge_l_scores(*sides).mean()), "BLEU": float(bleu_scores(*sides).mean())}
        scores = vader([*a, *b], output="neg")
        first, second = scores[:half], scores[half:]
        return found | {
            "SCSP": scsp(first, second),
            "WCSP": wcsp(first, second, threshold=NEGATIVE, variant="langfair"),
        }

    return {
        "SA": timed(lambda: stereotypical_associations(responses, groups, TARGETS, variant="langfair")),
        "COBS": timed(lambda: cobs(responses, WOMEN, MEN, TARGETS, default_stop_words(), variant="langfair")),
        "pairs": timed(pairs),
    }


def there(python: str, responses: list[str]) -> dict[str, tuple[float, object]]:
    """Seconds and numbers of LangFair."""
    lists = {"women": WOMEN, "men": MEN, "targets": TARGETS, "threshold": NEGATIVE, "stop_words": default_stop_words()}
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.json"), Path(folder, "found.json")
        given.write_text(json.dumps({"responses": responses, **lists}), encoding="utf-8")
        worker = Path(__file__).with_name("usecase_langfair.py")
        subprocess.run([python, str(worker), str(given), str(found)], check=True)
        read = json.loads(found.read_text(encoding="utf-8"))
    return {name: (seconds, numbers) for name, (seconds, numbers) in read.items()}


def stream(count: int) -> None:
    """Tokens, COBS and SA of many responses, 25 a prompt, a chunk at a time: the sums are what remains."""
    parts, others, seconds, begun = [], [], 0.0, time.perf_counter()
    texts = texts_of(count, seed=1)
    for start in range(0, count, CHUNK):
        chunk = [next(texts) for _ in range(min(CHUNK, count - start))]
        units = np.arange(len(chunk)) // 25
        size = int(units[-1]) + 1
        at = time.perf_counter()
        tokens = tokenise(chunk)
        responses = marked(tokens, find(tokens, [WOMEN, MEN]))
        parts.append(cooccurrences(responses, units, size, groups=2).pair(0, 1))
        others.append(sa_sums(responses, units, size, groups=2))
        seconds += time.perf_counter() - at
    one, other = (replace(each[0], sums=sparse.vstack([part.sums for part in each])) for each in (parts, others))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"stream    {count:,} responses, {one.units:,} prompts: COBS {one.value():.4f}, SA {other.value():.4f} in "
        f"{seconds:.1f} s ({time.perf_counter() - begun:.1f} s with making the texts), peak memory {peak:,.0f} MB"
    )


def equal(ours: object, theirs: object) -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ", ".join(f"{name} {equal(ours[name], theirs[name])}" for name in ("SCSP", "WCSP"))
    same = abs(float(ours) - float(theirs)) <= 1e-9  # type: ignore[arg-type]
    return f"{float(ours):.6f} {'equal' if same else f'but {float(theirs):.6f}'}"  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--langfair", metavar="PYTHON", help="interpreter of the environment that LangFair is in")
    parser.add_argument("--responses", type=int, default=10_000)
    parser.add_argument("--stream", type=int, default=0, help="stream so many responses instead")
    options = parser.parse_args()
    if options.stream:
        stream(options.stream)
        return
    responses = list(texts_of(options.responses, seed=0))
    ours = here(responses)
    theirs = there(options.langfair, responses) if options.langfair else {}
    print(f"{len(responses):,} responses of {WORDS} words; pairs: masked ROUGE-L and BLEU, sentiment", flush=True)
    for name, (seconds, numbers) in ours.items():
        line = f"{name:9} {seconds:8.2f} s"
        if theirs:
            took, found = theirs[name]
            line += f"   LangFair {took:8.2f} s   ratio {took / seconds:7.1f}   {equal(numbers, found)}"
        print(line, flush=True)
    subprocess.run([sys.executable, __file__, "--stream", str(100 * options.responses)], check=True)


if __name__ == "__main__":
    main()
