"""The paper's table beside ours, and what became of the paper's claims."""

import streamlit as st

from app import plain_text
from app.plain_text import Bold
from app.reading.findings import WORDS, our_number, outcome
from app.reading.story import Finding, PaperTable
from explainers.report.quantities import filled
from explainers.report.text import escaped

COLOURS = {"replicated": "#21a35b", "partly": "#d9a400", "not": "#d92d3a"}
NOTE = "± is half of the 95 % bootstrap interval. Other models and other data: compare orders, not heights."
STYLE = """<style>
.reading-table { overflow-x: auto; }
.reading-table table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.95rem; }
.reading-table th, .reading-table td { text-align: right; padding: 0.3rem 0.8rem; white-space: nowrap;
  border: none; border-bottom: 1px solid rgba(128, 128, 128, 0.3); }
.reading-table tr.reading-name { display: none; }
.reading-table tr.reading-name td { border-bottom: none; padding: 0.6rem 0 0; font-weight: 600; }
.reading-name span { position: sticky; left: 0; }
@media (max-width: 640px) { /* a row's name stands above its numbers and stays while they are scrolled */
  .reading-table tr.reading-name { display: table-row; }
  .reading-table th:first-child, .reading-table tr:not(.reading-name) td:first-child { display: none; }
}
.reading-table th:first-child, .reading-table td:first-child { text-align: left; }
.reading-finding { border-left: 0.25rem solid var(--tone); padding: 0.4rem 0.9rem; margin: 0.5rem 0; max-width: 60rem; }
.reading-finding b { display: block; }
</style>"""


def show(table: PaperTable) -> None:
    st.html(STYLE + markup(table))
    plain_text.caption(f"Paper: {table.source}. Ours: {table.ours}. {NOTE}")
    for finding in table.findings:
        _finding(finding)


def markup(table: PaperTable) -> str:
    """HTML, every text escaped: a row per method, for each column the paper's number and ours."""
    head = "".join(f"<th>paper: {escaped(each)}</th><th>ours: {escaped(each)}</th>" for each in table.columns)
    rows = "".join(
        f'<tr class="reading-name"><td colspan="{2 * len(table.columns)}"><span>{escaped(row.name)}</span></td></tr>'
        f"<tr><td>{escaped(row.name)}</td>"
        + "".join(
            f"<td>{escaped(paper or '–')}</td><td>{escaped(our_number(ours) or '–')}</td>"
            for paper, ours in zip(row.paper, row.ours, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    table_html = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="reading-table" tabindex="0" role="region" aria-label="Paper and ours">{table_html}</div>'


def _finding(finding: Finding) -> None:
    result = outcome(finding)
    with st.container(border=True):
        plain_text.paragraph(Bold(finding.claim))
        st.html(f'<span style="color: {COLOURS[result]}">●</span> <b>{escaped(WORDS[result])}</b>')
        st.markdown(filled(finding.because))
