"""Pages shown by their first pictures: a fenced block ``cards``, whose lines name pages beside its own."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def places(tree: nodes.document) -> list[nodes.literal_block]:
    """The blocks that become cards."""
    return [block for block in tree.findall(nodes.literal_block) if block.get("language") == "cards"]


def pages(block: nodes.literal_block, source: str) -> list[str]:
    """The pages that a block of a page names."""
    folder = source.rpartition("/")[0]
    return [f"{folder}/{name}" for name in block.astext().split()]


def note(app: Sphinx, tree: nodes.document) -> None:
    """Makes a page be written again when one of those that it shows changes. Says of each plot which page's it is."""
    title = app.env.titles.get(app.env.docname)
    for number, picture in enumerate(tree.findall(nodes.image), 1):
        if "alt" not in picture and title is not None:
            picture["alt"] = f"Plot {number} of the page: {title.astext()}"
    for block in places(tree):
        for page in pages(block, app.env.docname):
            app.env.note_dependency(str(app.env.doc2path(page)))


def card(app: Sphinx, source: str, page: str) -> nodes.reference:
    """The title of a page below its first picture, which both lead to the page."""
    link = nodes.reference("", "", internal=True, refuri=app.builder.get_relative_uri(source, page), classes=["shown"])
    for picture in list(app.env.get_doctree(page).findall(nodes.image))[:1]:
        shown = picture.deepcopy()
        # The title says what it shows.
        shown["alt"] = ""
        link += shown
    link += nodes.inline("", app.env.titles[page].astext())
    return link


def fill(app: Sphinx, tree: nodes.document, source: str) -> None:
    """Puts the cards into their places."""
    for block in places(tree):
        box = nodes.container(classes=["cards"])
        box += [nodes.paragraph("", "", card(app, source, page)) for page in pages(block, source)]
        block.replace_self(box)


def setup(app: Sphinx) -> None:
    """Connects the handlers."""
    app.connect("doctree-read", note)
    app.connect("doctree-resolved", fill)
