"""Methods: what each one is, its formula, and when not to believe it."""

from app import handbook, house, narrators, session

house.navigated()
handbook.title()
handbook.methods(session.engine())
narrators.cards()
handbook.metrics()
handbook.evaluated()
narrators.evaluated()
