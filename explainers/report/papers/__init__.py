"""The papers' tables: their numbers, ours beside them, and which of their comparisons hold."""
