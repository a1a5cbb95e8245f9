"""Methods: what each one is, its formula, and when not to believe it."""

from app import handbook, house, session

house.navigated()
handbook.title()
handbook.methods(session.engine())
handbook.metrics()
handbook.evaluated()
