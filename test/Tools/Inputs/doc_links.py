"""Links in the Markdown files of a tree lead somewhere: files exist, and so do the headings that anchors name.
An index.md has a link to each page beside and below it.

usage: doc_links.py FOLDER
"""
import pathlib
import re
import sys
from urllib.parse import unquote

SKIPPED = {".git", ".cache", "node_modules"}


def pages_of(root):
    for path in sorted(root.rglob("*.md")):
        folders = path.relative_to(root).parts[:-1]
        if not any(x in SKIPPED or x.startswith("build") for x in folders):
            yield path


def without_blocks(text):
    return re.sub(r"^ *(```|~~~).*?^ *\1", "", text, flags=re.MULTILINE | re.DOTALL)


def without_code(text):
    """The text without blocks and spans of code, whose brackets are no links."""
    text = re.sub(r"(?<=\n\n)(?: {4}.*\n)+", "", without_blocks(text))
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def anchors_of(path):
    """Anchors as GitHub makes them of headings, a number behind those that repeat, and those that are written out."""
    text = without_blocks(path.read_text(encoding="utf-8"))
    seen, anchors = {}, set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, flags=re.MULTILINE):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        anchors.add(slug if slug not in seen else f"{slug}-{seen[slug]}")
        seen[slug] = seen.get(slug, 0) + 1
    return anchors


def links_of(path):
    """Targets of inline links and pictures, and of references."""
    text = without_code(path.read_text(encoding="utf-8"))
    yield from re.findall(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)", text)
    yield from re.findall(r"^\[[^\]]+\]:\s+(\S+)", text, flags=re.MULTILINE)


def broken(root, page, link):
    """What is wrong with a link, or nothing."""
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return None
    target, _, anchor = unquote(link).partition("#")
    file = (page.parent / target).resolve() if target else page
    if root not in file.parents and file != root:
        return "is outside of the tree"
    if not file.exists():
        return "does not exist"
    if anchor and file.suffix == ".md" and anchor not in anchors_of(file):
        return f"has no heading '#{anchor}'"
    return None


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages, count, wrong = list(pages_of(root)), 0, []
    for page in pages:
        name = page.relative_to(root)
        linked = set()
        for link in links_of(page):
            count += 1
            linked.add((page.parent / unquote(link).partition("#")[0]).resolve())
            if what := broken(root, page, link):
                wrong.append(f"{name}: {link} {what}")
        if page.name == "index.md":
            beside = (x for x in pages if page.parent in x.parents and x != page)
            wrong += [f"{name}: expected a link to {x.relative_to(page.parent)}" for x in beside if x not in linked]
    print("\n".join(wrong + [f"{count} links in {len(pages)} pages"]))
    sys.exit(bool(wrong) or not count)


if __name__ == "__main__":
    main()
