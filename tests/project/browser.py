"""A browser for tests of pages. A test that asks for it is skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium without a window: that of Playwright, or that of the system."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with api.sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = own if Path(own).exists() else shutil.which("chromium") or shutil.which("google-chrome")
        if found is None:
            pytest.skip("there is no Chromium: playwright install chromium")
        running = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()
