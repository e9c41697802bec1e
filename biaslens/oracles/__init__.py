"""Decide the outcome of an answer: rules for yes/no and choice questions, judges' votes for why questions.

The two rule oracles are functions of the same name, ``yes_no.decide`` and ``choice.decide``.
"""

from biaslens.oracles import choice, why, yes_no

RULES = "rules 4"
"""Version of the rule oracles; recorded with each verdict, and raised with every change that can alter one."""

__all__ = ["RULES", "choice", "why", "yes_no"]
