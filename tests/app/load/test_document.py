from app.load import document


def test_the_document_is_that_of_the_stored_results() -> None:
    assert document.DOCUMENT.read_text(encoding="utf-8") == document.document()
