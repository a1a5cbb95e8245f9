"""Reading: a paper's claims, one step at a time, on live examples; alone or with a group."""

from app import page_compat
from app.reading import view

page_compat.navigated()
view.show()
