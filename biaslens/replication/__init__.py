"""The published study: import its answers, work its tables out again, and score them anew."""
