"""Methods: what each one is, its formula, and when not to believe it."""

from app import handbook, session

handbook.title()
handbook.methods(session.engine())
handbook.metrics()
