"""Counterfactual prompts: the same prompt with the words of another group."""

from biaslens.usecase.counterfactual.pairs import COLUMNS, Pair, Pairs, make_pairs, pair_rows
from biaslens.usecase.counterfactual.substitute import Swap, Variant, substitute

__all__ = ["COLUMNS", "Pair", "Pairs", "Swap", "Variant", "make_pairs", "pair_rows", "substitute"]
