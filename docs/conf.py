"""The settings of the site, which ``make docs`` builds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import ferrograd
from sitegen import cards, copies, docstrings, formulas, ops, reference

project = "ferrograd"
author = "the ferrograd authors"
release = version = ferrograd.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb"]
exclude_patterns = ["sitegen"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
napoleon_numpy_docstring = False
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
autodoc_member_order = "alphabetical"
# A page begins with a table of its entries; that is its list of contents.
toc_object_entries = False
pygments_style = "default"
html_math_renderer = "mathml"

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

html_theme = "pydata_sphinx_theme"
html_title = "ferrograd"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
# The summaries need a server; results look the same with one and without.
html_show_search_summary = False
html_theme_options = {
    "github_url": "https://github.com/ferrograd/ferrograd",
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "show_toc_level": 1,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


def setup(app: Any) -> None:
    """Writes the generated pages, then connects the handlers of docstrings."""
    copies.write()
    reference.write()
    ops.write()
    formulas.setup(app)
    cards.setup(app)
    app.connect("autodoc-process-docstring", docstrings.convert, priority=100)
    app.connect("autodoc-process-signature", docstrings.signature)
    app.connect("doctree-read", docstrings.link_types)
