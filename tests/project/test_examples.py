"""Every example runs; each asserts its own result."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.stem)
def test_example(script: Path) -> None:
    environment = {**os.environ, "MPLBACKEND": "agg"}
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


DEPLOY = Path(__file__).parents[2] / "examples/deploy"


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return int(one.getsockname()[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="one of the servers forks")
@pytest.mark.parametrize("processes", [[], ["2"]], ids=["threads", "forked"])
def test_a_server_of_a_saved_program_answers(processes: list[str], tmp_path: Path) -> None:
    model, port = str(tmp_path / "model.fgp"), str(_free_port())
    subprocess.run([sys.executable, str(DEPLOY / "train.py"), model], check=True)
    environment = {**os.environ, "PORT": port}
    with subprocess.Popen([sys.executable, str(DEPLOY / "serving.py"), model, *processes], env=environment) as server:
        try:
            client = [sys.executable, str(DEPLOY / "client.py"), f"http://localhost:{port}", "0.2", "3"]
            found = subprocess.run(client, capture_output=True, text=True, check=True)
        finally:
            server.terminate()
    assert "requests/s" in found.stdout
