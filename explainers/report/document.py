"""A comparison as HTML: a fragment for notebooks, and a self-contained page without scripts, light and dark."""

from typing import TYPE_CHECKING

from explainers.report import narratives, sections
from explainers.report.summary import summary
from explainers.report.text import escaped, one_line

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
FAINT = "rgba(128, 128, 128, 0.35)"
FRAGMENT_STYLE = f"""
.crosslight {{ max-width: 72rem; line-height: 1.45; text-align: start; }}
.crosslight h2 {{ font-size: 1.15em; margin: 1.6em 0 0.5em; }}
.crosslight h3 {{ font-size: 1em; margin: 0 0 0.4em; }}
.crosslight small, .crosslight .note {{ font-size: 0.85em; font-weight: normal; opacity: 0.75; margin: 0.4em 0 0; }}
.crosslight .summary {{ font-size: 1.05em; max-width: 60rem; overflow-wrap: anywhere; }}
.crosslight .bars {{ display: grid; grid-template-columns: fit-content(45%) 1fr 4em; gap: 0.2em 0.8em;
  max-width: 40rem; margin: 0; align-items: center; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }}
.crosslight dd {{ margin: 0; }}
.crosslight .bar {{ display: block; height: 0.8em; border-radius: 3px; background: rgb(50, 130, 230); }}
.crosslight .cards {{ display: grid;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1em; }}
.crosslight .card {{ border: 1px solid {FAINT}; border-radius: 8px; padding: 0.8em; min-width: 0; }}
.crosslight .text {{ max-height: 24em; overflow-y: auto; margin-bottom: 0.5em; padding: 0 2px; }}
.crosslight .wide {{ overflow-x: auto; }}
.crosslight table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
.crosslight th, .crosslight td {{ text-align: right; padding: 0.3em 0.7em; border-bottom: 1px solid {FAINT};
  white-space: nowrap; background: none; color: inherit; }}
.crosslight th:first-child, .crosslight td:first-child {{ text-align: left; }}
.crosslight .best {{ font-weight: 700; text-decoration: underline; text-underline-offset: 0.2em; }}
.crosslight .pale {{ opacity: 0.65; }}
.crosslight .curves {{ display: flex; flex-wrap: wrap; gap: 1em; }}
.crosslight .curves > div {{ flex: 1 1 18rem; max-width: 34rem; }}
.crosslight .curves svg {{ width: 100%; }}
.crosslight .lines {{ display: flex; flex-wrap: wrap; gap: 0.3em 1.4em; font-size: 0.9em; }}
.crosslight .lines i {{ display: inline-block; width: 2em; vertical-align: middle; margin-right: 0.5em; }}
.crosslight .methods dt {{ font-weight: 600; margin-top: 0.7em; }}
.crosslight pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85em; }}
"""
PAGE_STYLE = """
:root { color-scheme: light dark; }
body { font-family: system-ui, "Segoe UI", "Noto Sans", sans-serif; margin: 1.5rem auto; padding: 0 1rem;
  max-width: 72rem; background: #ffffff; color: #31333f; }
@media (prefers-color-scheme: dark) { body { background: #0e1117; color: #fafafa; } }
h1 { font-size: 1.4em; overflow-wrap: anywhere; }
"""


def fragment(comparison: "Comparison", *, preset: str = "safe") -> str:
    """Prediction, summary, heatmaps, metrics and curves, in the colours of the surrounding page."""
    return (
        f'<style>{FRAGMENT_STYLE}</style><div class="crosslight">'
        f"{sections.prediction(comparison)}"
        f'<p class="summary">{escaped(summary(comparison)).replace(" %", "&nbsp;%")}</p>'
        f"{sections.cards(comparison, preset)}{narratives.narratives_section(comparison)}"
        f"<h2>Metrics</h2>{sections.metrics_table(comparison)}"
        f"<h2>Curves</h2>{sections.curves(comparison)}</div>"
    )


def document(comparison: "Comparison", *, preset: str = "safe") -> str:
    """The page to send or print; its content security policy allows no scripts and no requests."""
    text, label = one_line(" / ".join(comparison.question.encoding.texts), 80), one_line(comparison.label)
    heading = f"“<bdi>{escaped(text)}</bdi>”: what supports <bdi>{escaped(label)}</bdi>"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Crosslight">
<title>{escaped(f"“{text}”: what supports {label}")}</title>
<style>{PAGE_STYLE}</style>
</head>
<body>
<h1>{heading}</h1>
{fragment(comparison, preset=preset)}
<div class="crosslight">
<h2>The methods, and when not to believe them</h2>
{sections.methods_explained(comparison)}
{sections.run_manifest(comparison)}
</div>
</body>
</html>
"""
