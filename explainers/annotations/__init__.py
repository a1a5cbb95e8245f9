"""What people mark, rate and correct: the records, their agreement, their formats, and how methods agree with them."""
