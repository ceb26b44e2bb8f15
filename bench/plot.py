"""Draws tables of results as one picture: panels below each other, bars in groups, a group for each row of a table.

usage: plot.py PICTURE.json OUT.svg
PICTURE.json has, in paths relative to it:
  series   the columns that are drawn, from left to right, and their names in the legend
  panels   of each: title; unit, which the left axis is in; axis, what a row's label means; results, the file;
           heading, the start of the heading that the table is below (none: the first table of the file);
           versions, which the caption has, and which the file must say
A cell that is no number has no bar. The first series has its figures above its bars.
"""
import html, json, pathlib, sys

# For pages of light and of dark colour, told apart without hues as well: Okabe and Ito's colours.
LIGHT = ("#0072b2", "#e69f00", "#009e73", "#999999", "#cc79a7", "#56b4e9")
DARK = ("#3da5e8", "#e69f00", "#1fc197", "#8b949e", "#d991b9", "#9ad4f5")
WIDTH, LEFT, RIGHT, LEGEND, TITLE, PLOT, LINE = 960, 72, 12, 44, 30, 200, 16
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


def table_of(text, heading):
    """The first table below the heading, as its heads and its rows."""
    lines = text.splitlines()
    if heading:
        at = [n for n, line in enumerate(lines) if line.startswith("#") and line.lstrip("# ").startswith(heading)]
        if not at:
            sys.exit(f"plot.py: error: expected a heading '{heading}', found none")
        lines = lines[at[0] + 1 :]
    rows = []
    for line in lines:
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


class Svg:
    def __init__(self):
        self.lines = []

    def page(self, height):
        """All that was drawn, on a page of the colour that the reader's pages have."""
        colours = lambda names: "".join(f" .s{n} {{ fill: {colour} }}" for n, colour in enumerate(names))
        size = f'width="{WIDTH}" height="{height:.0f}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif" font-size="12">',
                f"<style>.page {{ fill: #ffffff }} text {{ fill: #1f2328 }} .grid {{ stroke: #d0d7de }}{colours(LIGHT)}",
                f"@media (prefers-color-scheme: dark) {{ .page {{ fill: #0d1117 }} text {{ fill: #e6edf3 }} .grid {{ stroke: #30363d }}{colours(DARK)} }}</style>",
                f'<rect class="page" {size}/>',
                *self.lines,
                "</svg>\n",
            ]
        )

    def text(self, x, y, what, anchor="middle", more=""):
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(str(what))}</text>')

    def bar(self, x, y, width, height, series, title=""):
        shape = f'<rect class="s{series}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self.lines.append(f"{shape}><title>{html.escape(title)}</title></rect>" if title else f"{shape}/>")


def label_lines(rows, room):
    """The rows' labels as lines: one each where all of them fit, else one for each word."""
    labels = [row[0].split() for row in rows]
    fits = all(len(" ".join(words)) * 7.4 < room for words in labels)
    return [[" ".join(words)] if fits else words for words in labels]


def draw_panel(svg, top, panel, series, text):
    heads, rows = table_of(text, panel.get("heading"))
    columns = [(place, heads.index(name)) for place, name in enumerate(series) if name in heads]
    if not columns:
        sys.exit(f"plot.py: error: {panel['results']}: expected one of {', '.join(series)} in the table's heads, found {', '.join(heads)}")
    largest = max(number(row[column]) or 0 for row in rows for _, column in columns)
    step = next(s for s in STEPS if largest / s <= 6)
    scale, bottom = (PLOT - LINE) / largest, top + TITLE + PLOT
    group = (WIDTH - LEFT - RIGHT) / len(rows)
    bar = group * 0.84 / len(columns)
    svg.text(LEFT, top + 16, panel["title"], "start", ' font-weight="bold" font-size="14"')
    middle = top + TITLE + PLOT / 2
    svg.text(16, middle, panel["unit"], more=f' transform="rotate(-90 16 {middle:.1f})"')
    for n in range(int(largest / step) + 1):
        y = bottom - n * step * scale
        svg.lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        svg.text(LEFT - 6, y + 4, n * step, "end")
    labels = label_lines(rows, group)
    for at, row in enumerate(rows):
        start = LEFT + (at + 0.08) * group
        for n, (place, column) in enumerate(columns):
            value = number(row[column])
            if value is not None:
                svg.bar(start + n * bar, bottom - value * scale, bar - 1, value * scale, place, f"{row[0]}, {series[heads[column]]}: {row[column]}")
                if place == 0:
                    svg.text(start + bar / 2, bottom - value * scale - 4, row[column], more=' font-size="10"')
        for n, line in enumerate(labels[at]):
            svg.text(LEFT + (at + 0.5) * group, bottom + (n + 1) * LINE, line)
    below = max(map(len, labels)) + 1
    svg.text(LEFT + (WIDTH - LEFT - RIGHT) / 2, bottom + (below + 0.25) * LINE, panel["axis"])
    return bottom + (below + 1.5) * LINE


def caption_of(panel, text):
    for version in panel["versions"]:
        if version not in text:
            sys.exit(f"plot.py: error: expected '{version}' in {panel['results']}, found none")
    return f"{panel['title'].split(',')[0]}: {', '.join(panel['versions'])} ({pathlib.Path(panel['results']).name})"


def draw(picture, folder):
    svg, y, captions = Svg(), LEGEND, []
    for place, name in enumerate(picture["series"].values()):
        x = LEFT + place * (WIDTH - LEFT) / len(picture["series"])
        svg.bar(x, 14, 12, 12, place)
        svg.text(x + 18, 25, name, "start")
    for panel in picture["panels"]:
        text = (folder / panel["results"]).read_text()
        y = draw_panel(svg, y, panel, picture["series"], text)
        captions.append(caption_of(panel, text))
    for n, caption in enumerate(captions):
        svg.text(LEFT, y + n * LINE, caption, "start", ' font-size="11"')
    return svg.page(y + len(captions) * LINE)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    description, picture = map(pathlib.Path, sys.argv[1:])
    picture.write_text(draw(json.loads(description.read_text()), description.parent))


if __name__ == "__main__":
    main()
