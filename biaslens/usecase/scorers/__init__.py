"""Score texts for toxicity, stereotypes and sentiment: offline, by a classifier, a service or a judge."""
