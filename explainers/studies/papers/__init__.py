"""The papers' tables, ours beside theirs: data sets of theirs, one classifier for each, and their own metrics."""
