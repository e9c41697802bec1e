"""From responses, predictions or lists to an assessment."""
