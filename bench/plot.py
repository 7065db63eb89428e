"""A bar chart as SVG, on a logarithmic scale: for a reader of pages, dark or light."""

from collections.abc import Mapping
from html import escape
from math import floor, log10

_LEFT, _WIDTH, _ROW, _GAP, _TOP = 130, 470, 18, 14, 34
_COLOURS = ("#2f81f7", "#8b949e")


def bars(title: str, rows: Mapping[str, Mapping[str, float]], ours: str) -> str:
    """Return a chart of ``rows``: of each name, a bar for every kind."""
    kinds = list(dict.fromkeys(kind for row in rows.values() for kind in row))
    values = [value for row in rows.values() for value in row.values()]
    low, high = 10 ** floor(log10(min(values))), max(values) * 1.6
    scale = _WIDTH / log10(high / low)
    pieces, at = [], _TOP + 18
    for name, row in rows.items():
        weight = ' font-weight="bold"' if name == ours else ""
        middle = at + _ROW * len(row) / 2 + 4
        label = f'<text x="{_LEFT - 8}" y="{middle:.0f}" text-anchor="end"{weight}>'
        pieces.append(f"{label}{escape(name)}</text>")
        for kind, value in row.items():
            length = log10(value / low) * scale
            colour = _COLOURS[kinds.index(kind) % len(_COLOURS)]
            pieces.append(
                f'<rect x="{_LEFT}" y="{at}" width="{length:.1f}" height="{_ROW - 3}" rx="2"'
                f' fill="{colour}"/>'
                f'<text x="{_LEFT + length + 6:.1f}" y="{at + 12}">{value:.3g} s</text>'
            )
            at += _ROW
        at += _GAP
    legend = "".join(
        f'<rect x="{_LEFT + 150 * number}" y="{_TOP - 12}" width="11" height="11" rx="2"'
        f' fill="{_COLOURS[number % len(_COLOURS)]}"/>'
        f'<text x="{_LEFT + 16 + 150 * number}" y="{_TOP - 2}">{escape(kind)}</text>'
        for number, kind in enumerate(kinds)
    )
    body = "\n".join([*_lines(low, high, scale, at), *pieces])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 70} {at + 24}"'
        ' font-family="system-ui, sans-serif" font-size="12" fill="#57606a" role="img">\n'
        f"<title>{escape(title)}</title>\n{legend}\n{body}\n"
        f'<text x="{_LEFT}" y="{at + 20}">{escape(title)}</text>\n</svg>\n'
    )


def _lines(low: float, high: float, scale: float, bottom: int) -> list[str]:
    """A line for every power of ten."""
    found, value = [], low
    while value <= high:
        x = _LEFT + log10(value / low) * scale
        found.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP + 8}" y2="{bottom - 6}" stroke="#d0d7de"/>'
            f'<text x="{x + 3:.1f}" y="{bottom + 4}" font-size="10">{value:g} s</text>'
        )
        value *= 10
    return found
