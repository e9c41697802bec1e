"""People label answers: samples, the labelling page, labels back into the run."""
