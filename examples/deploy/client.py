"""Measures a server: ``python client.py URL SECONDS CLIENTS`` prints the requests a second, and their latencies."""

import http.client
import json
import sys
import threading
import time
from urllib.parse import urlsplit

url, seconds, clients = urlsplit(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
body = json.dumps([0.5] * 16)
times: list[float] = []


def wait_for_server() -> float:
    """Asks until the server answers; how many seconds that took."""
    begin = time.perf_counter()
    while True:
        try:
            connection = http.client.HTTPConnection(url.hostname or "localhost", url.port)
            connection.request("GET", "/")
            connection.getresponse().read()
            return time.perf_counter() - begin
        except ConnectionRefusedError:
            time.sleep(0.005)


def ask() -> None:
    """Sends one request after the other on one connection."""
    connection = http.client.HTTPConnection(url.hostname or "localhost", url.port)
    end = time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        connection.request("POST", "/", body)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        times.append(time.perf_counter() - begin)


print(f"the server answered after {wait_for_server():.2f} s")
threads = [threading.Thread(target=ask) for _ in range(clients)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
times.sort()
middle, late = times[len(times) // 2], times[int(len(times) * 0.99)]
print(f"{len(times) / seconds:.0f} requests/s, median {middle * 1e3:.2f} ms, 99 % below {late * 1e3:.2f} ms")
