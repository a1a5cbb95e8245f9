"""What is typed is shown as it is. That no place of a page takes it for Markdown, tests/browser sees in Chromium."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from pathlib import Path

import pytest
import streamlit as st

from app import plain_text
from app.plain_text import Bold, label

ROOT = Path(__file__).parents[2]
TYPED = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "[link](javascript:alert(1)) **bold** _it_ `code` $x^2$ :red[text]",
    "https://example.org www.example.org a@example.org",
    ":material/home: :material_home: :streamlit: :smile: a -> b",
    "&lt;b&gt; &#60; \\*escaped\\*",
    "naïve 🎬 فيلم 映画",
    "two\nlines",
)
DRAWN: tuple[Callable[..., None], ...] = (
    plain_text.error,
    plain_text.warning,
    plain_text.success,
    plain_text.caption,
    plain_text.paragraph,
)
# Places that know Markdown, by the name of the function, and what of the program's own they are given, by file.
# Whatever came from a person, a model's author, a file or a library goes through app/plain_text.py.
MARKDOWN = re.findall(
    r"\w+",
    """badge button caption checkbox dialog download_button error expander file_uploader form_submit_button header image
    info link_button markdown metric multiselect number_input page_link pills popover progress radio segmented_control
    selectbox slider spinner status subheader success table tabs text_area text_input title toast toggle warning
    write""",
)
WITH_OPTIONS = ("pills", "radio", "segmented_control")
IN_LABELS = ("label", "text", "help", "caption", "options")
OWN: dict[str, tuple[str, ...]] = {  # stories come with the project, in assets/reading
    "app/annotate/project_form.py": (
        "offered",
        "counted(len(items), 'item')",
        "list(offered)",
        "title",
        "TITLES[task]",
        "reason",
        "QUESTIONS[task]",
    ),
    "app/annotate/intermission.py": (
        "label",
        "export.name",
    ),
    "app/annotate/adjudication.py": (
        "list(titles)",
        "label",
    ),
    "app/annotate/decision_form.py": (
        "label",
        "title(question)",
        "display_image(state.item.example.image).content",
    ),
    "app/annotate/results_view.py": (
        "title",
        "label",
        "agreement.title",
        "' '.join(filter(None, (caption, SCORES if intervals else '', FEW_ITEMS if few else '')))",
        "_support(gold.support)",
    ),
    "app/compare/duel.py": (
        "none",
        "TOO_FEW.format(_nouns(run))",
        "label",
    ),
    "app/compare/measurements.py": (
        "label",
        "LINK[compare_state().left_out].format(hours=HOURS)",
        "offered",
        "PLURALS[kind]",
        "TITLE.format(name)",
        "follow_up.result.progress(run.comparison())",
    ),
    "app/compare/answer_head.py": ("erasure", "holding_clauses([(erasure, True)], comparison)[0]"),
    "app/compare/units.py": ("which", "offered"),
    "app/compare/controls.py": (
        "list(specs)",
        "title",
        "info.erasures",
        "in_images",
    ),
    "app/compare/panels.py": ("state.taken_back",),
    "app/compare/question_form.py": ("curated.why", "display.content", "noun", "title", "help"),
    "app/compare/two_models.py": ("*_progress(second)", "second.download"),  # an amount such as 1.3 GB
    "app/compare/views.py": (
        "settled",
        "max(len(run.columns), 1)",
        "progress[status]",
        "remaining",  # a duration
        "how(run)",
        "budget_line(run)",
        "run.download",
    ),
    "app/evaluate/data_form.py": (
        "sources",
        "min(PREVIEW, len(data.rows))",
        "marks",
        "counted(len(data.rows), 'row')",
    ),
    "app/evaluate/form.py": (
        "number",
        "list(presets)",
        "preset.meaning[0].upper()",
        "preset.meaning[1:]",
    ),
    "app/evaluate/results.py": (
        "label",
        "wording.counted(data['left_out'], 'row')",
        "set_tables.table_note(result.methods)",
    ),
    "app/evaluate/view.py": (
        "counted(job.texts, 'input')",
        "chosen.id",
        "*_share(job)",
        "duration(job.finished - job.started)",
    ),
    "app/interventions/computations.py": ("text",),
    "app/train/column_box.py": ("help_text",),  # a constant of the form
    "app/components.py": ("label", "key.capitalize()", "help_text"),  # constants of the forms
    "app/interventions/examples.py": (
        "offered",
        "name",
        "help_text",
        "key",
        "what",
    ),
    "app/interventions/inputs.py": ("display.content",),
    "app/interventions/interchange.py": (
        "conclusions.over_set(rates)",
        "sample",
        "(RANDOM, TYPED)",
        "list(names)",
        "layers",
        "size",
    ),
    "app/server/login.py": ("label",),
    "app/reading/steps.py": (
        "bet.question",
        "choice.text",
        "filled(bet.because)",
        "filled(finding.because)",
        "step.title",
        "filled(step.text)",
        "equation.source",
        "table",
        "items",
    ),
    "app/reading/group_view.py": (
        "step.notes",
        "qr_code(address)",
    ),
    "app/reading/pace.py": (
        "story.title",
        "number",
    ),
    "app/reading/view.py": (
        "story.title",
        "story.summary",
    ),
    "app/reference/methods.py": (
        "texts",
        "model",
        "erasures",
        "group",
        "spec.name",
    ),
    "app/reference/narrators.py": (
        "model",
        "which",
    ),
    "app/train/form.py": (
        "' '.join(filter(None, (first, fit_time_line(jobs, pool, spec, texts))))",
        "recipe.__doc__",
        "about_seed.label",
        "about_seed.meaning",
        "setting.label",
    ),
    "app/train/job_list.py": ("job.status", "ahead", "resume", "about_resume"),
    "app/train/outcome.py": (
        "', '.join(measured)",
        "last",
    ),
    "app/train/texts_form.py": (
        "first",
        "second",
        "source",
    ),
    "app/train/view.py": (
        "*_progress(job, log)",
        "_when(job, log)",
    ),
}


def body(draw: Callable[..., None], *pieces: str) -> str:
    bodies: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "html", lambda html, **_rest: bodies.append(html))
        draw(*pieces)
    (html,) = bodies
    return html


@pytest.mark.parametrize("typed", TYPED)
@pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)
def test_every_sign_is_shown_as_typed(draw: Callable[..., None], typed: str) -> None:
    html = body(draw, typed)
    (content,) = re.findall(r"<div[^<>]*>([^<>]*)</div>", html)
    assert html.count("<") == 2
    assert unescape(content) == typed


def test_pieces_can_be_bold() -> None:
    assert "<b>&lt;i&gt;</b> &lt;b&gt;</div>" in body(plain_text.paragraph, Bold("<i>"), " <b>")


def test_a_tooltip_does_not_leave_its_attribute() -> None:
    html = body(lambda: plain_text.caption("a", tooltip='"><b onclick="x">'))
    assert html.count("<") == 2
    assert 'title="&quot;&gt;&lt;b onclick=&quot;x&quot;&gt;"' in html


def test_control_characters_are_shown_as_symbols() -> None:
    assert "a␀b" in body(plain_text.paragraph, "a\x00b")


def test_bullets_are_a_list_of_plain_lines() -> None:
    assert "<li>&lt;a&gt;</li><li>b</li>" in body(plain_text.bullets, ["<a>", "b"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("[Errno 13] Permission denied: '/srv/My Models/a b/x.bin'.", "[Errno 13] Permission denied: '…/x.bin'."),
        ("The folder /srv/models/base holds no vocab.txt.", "The folder …/base holds no vocab.txt."),
        ("(/srv/a.py, line 3), ~owner/b/c and ~/d/e", "(…/a.py, line 3), …/c and …/e"),
        (r"C:\Users\Owner\x.json is missing", "…/x.json is missing"),
        ("The model 'owner/model' has 1/2, and/or ../x.", "The model 'owner/model' has 1/2, and/or ../x."),
        ("See https://example.org/a/b.", "See https://example.org/a/b."),
        ("/", "/"),
    ],
)
def test_errors_do_not_name_the_folders_of_the_server(given: str, shown: str) -> None:
    for draw in (plain_text.error, plain_text.warning):
        (content,) = re.findall(r"<div[^<>]*>([^<>]*)</div>", body(draw, given))
        assert unescape(content) == shown


@pytest.mark.parametrize("name", ["Premise", "Second text", "Hypothèse 2", "follow-up question", "映画"])
def test_a_name_of_words_is_a_label(name: str) -> None:
    assert label(name, "Text") == name


@pytest.mark.parametrize("name", [*TYPED[:-2], "", "_it_", "a_b_c", "1. list", "- list", "a -- b", "# b", "a.example"])
def test_any_other_name_is_none(name: str) -> None:
    assert label(name, "Text") == "Text"


def inserted(node: ast.expr) -> Iterator[str]:
    """What an argument is made of, besides constants, numbers with a format, and names in capitals."""
    match node:
        case ast.Constant() | ast.FormattedValue(format_spec=ast.JoinedStr()):
            return
        case ast.FormattedValue(value=value):
            yield from inserted(value)
        case ast.JoinedStr(values=values) | ast.BoolOp(values=values):
            for value in values:
                yield from inserted(value)
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            yield from [*inserted(one), *inserted(other)]
        case ast.Call(func=ast.Name(id="len") | ast.Attribute(value=ast.Name(id="plain_text"))):
            return
        case ast.Name() | ast.Attribute() if ast.unparse(node).rpartition(".")[2].isupper():
            return
        case _:
            yield ast.unparse(node)


def shown_as_markdown(source: str, own: Sequence[str] = ()) -> list[str]:
    """Whatever a page gives to a place that knows Markdown and is not the program's own."""
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MARKDOWN
        and ast.unparse(node.func.value) in ("st", "st.sidebar", "left", "right", "column", "(column or st)")
    ]
    return [
        f"line {call.lineno}: {value}"
        for call in calls
        for argument in [
            *call.args[: 2 if call.func.attr in WITH_OPTIONS else 1],  # type: ignore[attr-defined]
            *(keyword.value for keyword in call.keywords if keyword.arg in IN_LABELS),
        ]
        for value in inserted(argument)
        if value not in own
    ]


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "app").rglob("*.py")), *sorted((ROOT / "pages").glob("*.py")), ROOT / "streamlit_app.py"],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_nothing_foreign_is_shown_as_markdown(path: Path) -> None:
    """Draw it with app/plain_text.py, or add it to OWN above if it is the program's own. What is gone is not listed."""
    source, own = path.read_text(encoding="utf-8"), OWN.get(path.relative_to(ROOT).as_posix(), ())
    assert shown_as_markdown(source, own) == []
    assert [name for name in own if not shown_as_markdown(source, [other for other in own if other != name])] == []


@pytest.mark.parametrize(
    "source",
    [
        "st.error(str(error))",
        'st.caption(f"{job.model}")',
        "st.button('a', help=run.error)",
        "st.pills('a', run.labels)",
    ],
)
def test_the_check_sees_what_is_foreign(source: str) -> None:
    assert len(shown_as_markdown(source)) == 1


@pytest.mark.parametrize(("count", "rest"), [(5, ""), (6, "\n1 more row is"), (7, "\n2 more rows are")])
def test_bad_rows_beyond_the_first_are_counted(count: int, rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(plain_text, "warning", warnings.append)
    plain_text.rows_left_out(("Line 2 has no text.",) * count)
    plain_text.rows_left_out(("Line 2 has no text.",) * 5, count)
    assert warnings == ["\n".join(["Line 2 has no text."] * 5) + (f"{rest} left out." if rest else "")] * 2
