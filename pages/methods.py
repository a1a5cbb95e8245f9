"""Methods: what each one is, its formula, and when not to believe it."""

from app import handbook

handbook.title()
handbook.methods()
handbook.metrics()
