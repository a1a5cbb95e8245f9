"""Methods: what each one is, its formula, and when not to believe it."""

from app import page_compat
from app.reference import methods, narrators, papers
from app.session import model_pool

page_compat.navigated()
methods.title()
methods.methods(model_pool())
narrators.cards()
methods.metrics()
narrators.metric()
methods.evaluations()
narrators.evaluations()
papers.show()
