"""Formulas as MathML, which browsers draw by themselves: a page needs no script and no network for them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def inline(writer: Any, node: nodes.math) -> None:
    """Writes a formula in a line of text."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Writes a formula on a line of its own, which scrolls where the window is narrow."""
    text = node.astext() if node.get("no-wrap") else rf"\begin{{aligned}}{node.astext()}\end{{aligned}}"
    formula = convert(text, display="block")
    writer.body.append(writer.starttag(node, "div", CLASS="math", tabindex="0"))
    writer.body.append(f"{formula}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Makes these the formulas of pages."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
