"""A small web application to label answers, for one person on one machine."""
