"""Probabilities before and after, as bars with numbers. Pure functions; what comes from people or models is escaped."""

from collections.abc import Sequence

from explainers.report.text import escaped

STYLE = """<style>
.changed { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr max-content; gap: 0.35rem 0.75rem;
        align-items: center; max-width: 34rem; }
.changed .tracks { display: grid; gap: 2px; min-width: 3rem; }
.changed .track { background: rgba(128, 128, 128, 0.2); border-radius: 3px; height: 0.6rem; }
.changed .track div { height: 100%; border-radius: 3px; background: #2166ac; }
.changed .track.before div { background: rgba(33, 102, 172, 0.45); }
.changed span { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.changed .strongest { font-weight: 600; }
</style>"""
_BOLD = ' class="strongest"'


def changed(labels: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    """A row per class: the upper, paler bar is before, the lower one after; the likeliest class after is bold."""
    strongest = max(range(len(after)), key=lambda index: after[index])
    rows = [
        f"<span{_BOLD if index == strongest else ''}>{escaped(label)}</span>"
        f'<div class="tracks">{_track(before[index], "track before")}{_track(after[index], "track")}</div>'
        f"<span>{before[index]:.3f} → {after[index]:.3f}</span>"
        for index, label in enumerate(labels)
    ]
    name = _in_words(labels, before, after)
    return f'{STYLE}<div class="changed" role="img" aria-label="{name}">{"".join(rows)}</div>'


def _track(share: float, kind: str) -> str:
    return f'<div class="{kind}"><div style="width: {100 * share:.1f}%"></div></div>'


def _in_words(labels: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    rows = zip(labels, before, after, strict=True)
    return escaped("; ".join(f"{label}: {one:.3f} before, {other:.3f} after" for label, one, other in rows))
