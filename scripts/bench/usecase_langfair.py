"""LangFair's part of `usecase.py`, run by the interpreter of its environment: `usecase_langfair.py GIVEN FOUND`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nltk.corpus
import nltk.tokenize


class StopWords:
    """The given stop words in place of NLTK's, which are a download: both sides use the same ones."""

    def __init__(self, words: list[str]) -> None:
        self.given = words

    def words(self, _: str) -> list[str]:
        """Stop words of a language."""
        return self.given


def split_without_data() -> None:
    """Where NLTK's trained sentence splitter, a download, is missing: its untrained one; words are cut the same way."""
    try:
        nltk.tokenize.word_tokenize("One. Two.")
    except LookupError:
        splitter = nltk.tokenize.PunktSentenceTokenizer()
        nltk.tokenize._get_punkt_tokenizer = lambda language="english": splitter
        print("LangFair: NLTK's punkt data is missing; sentences are split by its untrained splitter", flush=True)


def timed(work: Callable[[], object]) -> tuple[float, object]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def main() -> None:
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    split_without_data()
    nltk.corpus.stopwords = StopWords(given["stop_words"])
    from langfair.generator.counterfactual import CounterfactualGenerator
    from langfair.metrics.counterfactual.metrics import BleuSimilarity, RougelSimilarity, SentimentBias
    from langfair.metrics.stereotype.metrics.associations import StereotypicalAssociations
    from langfair.metrics.stereotype.metrics.cooccurrence import CooccurrenceBiasMetric

    responses, groups = given["responses"], {"women": given["women"], "men": given["men"]}
    half = len(responses) // 2
    a, b = responses[:half], responses[half : 2 * half]
    lists = {"demographic_group_word_lists": groups, "stereotype_word_list": given["targets"]}
    associations, cooccurrence = StereotypicalAssociations(**lists), CooccurrenceBiasMetric(**lists)
    generator, rouge, bleu = CounterfactualGenerator(), RougelSimilarity(), BleuSimilarity()
    weak, strong = SentimentBias(parity="weak", threshold=given["threshold"]), SentimentBias(parity="strong")
    quiet = {"show_progress_bars": False}

    def pairs() -> dict[str, float]:
        masked = [generator.neutralize_tokens(texts=side, attribute="gender") for side in (a, b)]
        found = {"ROUGE-L": rouge.evaluate(*masked, **quiet), "BLEU": bleu.evaluate(*masked, **quiet)}
        return found | {"WCSP": weak.evaluate(a, b, **quiet)}

    found = {"SA": timed(lambda: associations.evaluate(responses, **quiet))}
    found["COBS"] = timed(lambda: cooccurrence.evaluate(responses, **quiet))
    seconds, numbers = timed(pairs)
    # It scores all texts again for the other parity; that is left out of the time.
    assert isinstance(numbers, dict)
    found["pairs"] = seconds, numbers | {"SCSP": strong.evaluate(a, b, **quiet)}
    Path(sys.argv[2]).write_text(json.dumps(found, default=float), encoding="utf-8")


if __name__ == "__main__":
    main()
