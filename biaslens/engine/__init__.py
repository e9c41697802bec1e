"""Ask many prompts durably."""
