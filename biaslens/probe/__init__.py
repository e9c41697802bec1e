"""The bias probe of open weights: soft prompts tuned for sentiment, and group gaps in their false positives."""
