"""Draws the first table of a file of results as bars, one group for each row.

usage: plot.py RESULTS.md OUT.svg
A cell that is no number has no bar. The heads of the table are the legend, the lines above it stay in the file: the picture names it.
"""
import pathlib, sys

COLOURS = ("#2a6fdb", "#8a8f98", "#c9a227", "#4f9d69", "#b0563f")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 960, 360, 56, 48, 64


def first_table(text):
    rows = []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    if len(rows) < 3:
        sys.exit("plot.py: error: expected a table with rows, found none")
    return rows[0], rows[2:]


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return None


def draw(heads, rows, source):
    series = [n for n in range(1, len(heads)) if any(number(row[n]) is not None for row in rows)]
    top = max(number(row[n]) or 0 for row in rows for n in series)
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000) if top / s <= 8)
    scale = (HEIGHT - TOP - BOTTOM) / top
    group = (WIDTH - LEFT) / len(rows)
    bar = group * 0.8 / len(series)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    text = lambda x, y, what, anchor="middle": out.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{what}</text>')
    for n in range(int(top / step) + 1):
        y = HEIGHT - BOTTOM - n * step * scale
        out.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        text(LEFT - 6, y + 4, n * step, "end")
    for place, n in enumerate(series):
        x = LEFT + place * 190
        out.append(f'<rect x="{x}" y="14" width="12" height="12" fill="{COLOURS[place % len(COLOURS)]}"/>')
        text(x + 18, 25, heads[n], "start")
    for at, row in enumerate(rows):
        start = LEFT + at * group + group * 0.1
        for place, n in enumerate(series):
            value = number(row[n])
            if value is not None:
                out.append(f'<rect x="{start + place * bar:.1f}" y="{HEIGHT - BOTTOM - value * scale:.1f}" width="{bar - 1:.1f}" '
                           f'height="{value * scale:.1f}" fill="{COLOURS[place % len(COLOURS)]}"><title>{heads[n]}: {row[n]}</title></rect>')
        words = row[0].split()
        text(LEFT + (at + 0.5) * group, HEIGHT - BOTTOM + 18, " ".join(words[:-1]))
        text(LEFT + (at + 0.5) * group, HEIGHT - BOTTOM + 34, words[-1])
    text(WIDTH - 8, HEIGHT - 8, source, "end")
    return "\n".join(out + ["</svg>", ""])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results, picture = map(pathlib.Path, sys.argv[1:])
    heads, rows = first_table(results.read_text())
    picture.write_text(draw(heads, rows, f"TFLOP/s, {results.name}"))


if __name__ == "__main__":
    main()
