"""A server of a saved program: JSON with a list of 16 numbers in, JSON with 4 probabilities out.

``python serving.py model.fgp`` answers with threads; ``python serving.py model.fgp 4`` with 4 forked processes.
"""

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer

import ferrograd as fg
import numpy as np

# The program is loaded before any process is forked, so that all share its memory.
program = fg.load_compiled(sys.argv[1])
processes = int(sys.argv[2]) if len(sys.argv) > 2 else 0


class Handler(BaseHTTPRequestHandler):
    """Answers ``POST``; ``GET`` says that the server lives."""

    protocol_version = "HTTP/1.1"
    # Head and body leave in one packet; two would wait for each other, for some 40 ms.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Says that the server lives."""
        self._answer(200, b"ok")

    def do_POST(self) -> None:
        """Answers with the probabilities, or says what is wrong."""
        try:
            text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            row = np.array(json.loads(text), np.float32).reshape(1, 16)
        except (ValueError, TypeError) as error:
            self._answer(400, str(error).encode())
            return
        self._answer(200, json.dumps(program(row)[0].tolist()).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Writes nothing: a line for each request would cost more than the answer."""


class Server(ThreadingHTTPServer):
    """A thread for each connection."""

    daemon_threads = True


def forked(server: BaseServer, count: int) -> None:
    """Serves one listening socket from several processes, until one ends or the server is told to."""
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            server.serve_forever()
        children.append(child)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        os.wait()
    finally:
        for child in children:
            os.kill(child, signal.SIGTERM)


if __name__ == "__main__":
    # A request is small: its threads are those of the server, not of one op.
    fg.set_num_threads(1)
    server = Server(("", int(os.environ.get("PORT", "8000"))), Handler)
    if processes:
        forked(server, processes)
    else:
        server.serve_forever()
