"""The built site in a browser without a server: its search, its links and its widths. ``make docs`` builds it first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.project.browser import chromium
from tests.waiting import LONG

SITE = Path(__file__).parents[2] / "target/site/html"
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1366, "height": 768}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser, if the site is built."""
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built: make docs")
    with chromium() as running:
        yield running


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The first page of the site, in a window of either width."""
    window = browser.new_page(viewport=request.param)
    window.set_default_timeout(1000 * LONG)
    errors: list[str] = []
    window.on("pageerror", lambda error: errors.append(str(error)))
    window.goto((SITE / "index.html").as_uri())
    yield window
    window.close()
    assert not errors


def test_search_finds_a_function(page: Any) -> None:
    page.goto((SITE / "search.html").as_uri() + "?q=checkpoint")
    page.wait_for_selector("#search-results ul.search li")
    assert any("ferrograd.checkpoint" in text for text in page.locator("#search-results li").all_inner_texts())


def test_the_sparse_jacobian_is_two_clicks_away(page: Any) -> None:
    page.locator("article a", has_text="Recipes").first.click()
    page.locator("article a", has_text="A sparse Jacobian").first.click()
    page.wait_for_selector("h1:has-text('A sparse Jacobian')")
    assert page.locator("img[src*='_images']").count() >= 1


def test_a_function_is_two_clicks_away(page: Any) -> None:
    page.locator("article a", has_text="All ops").first.click()
    page.locator("article a", has_text="softmax").first.click()
    page.wait_for_selector("dt[id='ferrograd.softmax'], dt[id='ferrograd.log_softmax']")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name",
    ["index", "gallery/index", "tape", "first-steps", "errors", "reference/ops-index", "reference/ferrograd.func"],
)
def test_no_page_is_wider_than_the_window(page: Any, name: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto((SITE / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("name", ["from-torch", "from-paddle", "from-numpy", "reference/ferrograd.func"])
def test_all_columns_of_a_table_are_seen(page: Any, name: str) -> None:
    page.goto((SITE / f"{name}.html").as_uri())
    page.wait_for_selector("article table")
    boxes = "[...document.querySelectorAll('article table')].map(table => table.parentElement)"
    assert page.evaluate(f"{boxes}.filter(box => box.scrollWidth > box.clientWidth + 1).length") == 0


#: Pages with all that the others consist of.
KINDS = ["index", "gallery/index", "gallery/heat", "recipes/graph", "recipes/pinn", "tape", "errors", "from-torch"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", KINDS)
def test_a_page_is_accessible(page: Any, name: str, scheme: str) -> None:
    """Axe finds nothing serious: contrast, names of what is clicked, what the keyboard reaches."""
    axe = pytest.importorskip("axe_playwright_python", reason="Axe is not installed: pip install axe-playwright-python")
    page.emulate_media(color_scheme=scheme)
    page.goto((SITE / f"{name}.html").as_uri())
    # The theme fades from one scheme to the other.
    page.wait_for_function("document.getAnimations().every(one => one.playState === 'finished')")
    page.evaluate(next(Path(axe.__file__).parent.rglob("axe.min.js")).read_text("utf8"))
    found = page.evaluate("axe.run()")["violations"]
    assert not [(fault["id"], fault["nodes"]) for fault in found if fault["impact"] in ("serious", "critical")]


def test_a_page_needs_no_network(page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in KINDS:
        page.goto((SITE / f"{name}.html").as_uri())
    assert len(asked) > len(KINDS)
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]


def test_a_formula_is_drawn_by_the_browser(page: Any) -> None:
    page.goto((SITE / "recipes/pinn.html").as_uri())
    formulas = page.locator("article math")
    assert formulas.count() >= 4
    assert formulas.first.bounding_box()["width"] > 5
    assert "\\(" not in page.locator("article").inner_text()


def test_a_study_is_two_clicks_away_and_a_notebook(page: Any) -> None:
    page.locator("article a", has_text="Gallery").first.click()
    page.locator("article a.shown", has_text="The shape of a lens").click()
    page.wait_for_selector("h1:has-text('The shape of a lens')")
    assert page.locator("a[href$='lens.ipynb']").count() == 1
