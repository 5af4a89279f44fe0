"""Stores of keys and values, in one process and between several."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ferrograd.torch import distributed as dist
from ferrograd.torch.distributed import _stores

SHORT = timedelta(milliseconds=20)


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "tcp":
        return dist.TCPStore("127.0.0.1", 0, world_size=1, is_master=True)
    if request.param == "file":
        return dist.FileStore(str(tmp_path / "store"), 1)
    made = dist.HashStore()
    return made if request.param == "hash" else dist.PrefixStore("job", made)


def test_values(store: Any) -> None:
    before = store.num_keys()
    store.set("text", "é")
    store.set("bytes", b"\xff\x00\n")
    assert (store.get("text"), store.get("bytes")) == ("é".encode(), b"\xff\x00\n")
    assert (store.add("n", 3), store.add("n", -1), store.get("n")) == (3, 2, b"2")
    store.append("text", "!")
    assert store.get("text") == "é!".encode()
    store.multi_set(["a", "b"], ["1", "2"])
    assert store.multi_get(["b", "a"]) == [b"2", b"1"]
    assert store.num_keys() == before + 5
    assert (store.check(["a", "b"]), store.check(["a", "c"])) == (True, False)
    assert (store.delete_key("a"), store.delete_key("a"), store.check(["a"])) == (True, False, False)
    with pytest.raises(ValueError, match="invalid literal"):
        store.add("bytes", 1)
    assert store.get("b") == b"2"


def test_a_value_is_compared_and_set_in_one_go(store: Any) -> None:
    assert store.compare_set("key", "x", "y") == b"x"
    assert not store.check(["key"])
    assert store.compare_set("key", "", "y") == b"y"
    assert store.compare_set("key", "x", "z") == b"y"
    assert store.compare_set("key", "y", "z") == b"z"


def test_a_key_is_waited_for(store: Any) -> None:
    threading.Timer(0.02, store.set, ("late", "1")).start()
    assert store.get("late") == b"1"
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        store.wait(["never"], SHORT)
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        store.wait(["never"], timedelta(0))
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    with pytest.raises(dist.DistStoreError, match="never"):
        store.get("never")


def test_what_no_store_takes(store: Any) -> None:
    with pytest.raises(TypeError, match="str or bytes"):
        store.set("key", 1)
    for ask, keys in ((store.check, "key"), (store.get, 1), (store.wait, [None])):
        with pytest.raises(TypeError, match="keys of a store are a list of str"):
            ask(keys)
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(store)


CLIENT = """
import sys
from ferrograd.torch import distributed as dist
kind, place, name = sys.argv[1:]
store = dist.TCPStore("127.0.0.1", int(place), 3) if kind == "tcp" else dist.FileStore(place)
for _ in range(100):
    store.add("total", 1)
store.set(name, "done")
store.get("bye")
"""


@pytest.mark.parametrize("kind", ["tcp", "file"])
def test_processes_share_a_store(kind: str, tmp_path: Path) -> None:
    file = str(tmp_path / "store")
    tcp = dist.TCPStore("127.0.0.1", 0, 3, is_master=True, wait_for_workers=False) if kind == "tcp" else None
    place = str(tcp.port) if tcp else file
    clients = [subprocess.Popen([sys.executable, "-c", CLIENT, kind, place, name]) for name in "ab"]
    store = tcp or dist.FileStore(file, 3)
    store.wait(["a", "b"])
    assert store.add("total", 0) == 200
    store.set("bye", "")
    assert [client.wait() for client in clients] == [0, 0]


def test_the_master_waits_for_the_others() -> None:
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined"):
        dist.TCPStore("127.0.0.1", 0, 2, is_master=True, timeout=SHORT)


def test_a_master_that_is_not_there() -> None:
    free = dist.TCPStore("127.0.0.1", 0, is_master=True)
    port = free.port
    del free
    with pytest.raises(dist.DistNetworkError, match="timed out"):
        dist.TCPStore("127.0.0.1", port, 2, timeout=SHORT)


def test_two_masters_on_one_port() -> None:
    first = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match="failed to listen"):
        dist.TCPStore("127.0.0.1", first.port, is_master=True)


def test_clients_in_threads_share_a_connection() -> None:
    master = dist.TCPStore("127.0.0.1", 0, is_master=True)
    client = dist.TCPStore("127.0.0.1", master.port)

    def count(name: str) -> None:
        for i in range(100):
            store = (master, client)[i % 2]
            store.add("total", 1)
            store.set(name, str(i))
            assert store.get(name) == str(i).encode()

    threads = [threading.Thread(target=count, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.get("total") == b"400"


def test_an_answer_that_breaks_off() -> None:
    def answer(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            _stores._line(connection)
            connection.sendall(b'{"found": 1}\n')
            _stores._line(connection)
            connection.sendall(b'{"fou')

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server,))
        thread.start()
        store = dist.TCPStore("127.0.0.1", server.getsockname()[1])
        with pytest.raises(dist.DistNetworkError, match="Connection was likely closed"):
            store.get("key")
        thread.join()
    with pytest.raises(dist.DistNetworkError, match="timed out"):
        store.get("key")


def test_an_answer_that_nobody_waited_for_is_not_that_to_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    store.set("first", "1")
    store.set("second", "2")

    def interrupted(connection: socket.socket) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_stores, "_line", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.get("first")
    assert store.get("second") == b"2"


FORK = """
import os, sys
from ferrograd.torch import distributed as dist
master = dist.TCPStore("127.0.0.1", 0, is_master=True)
client = dist.TCPStore("127.0.0.1", master.port)
child = os.fork()
name = "child" if child == 0 else "parent"
for i in range(100):
    for store in (master, client):
        store.add("total", 1)
        store.set(name, str(i))
        assert store.get(name) == str(i).encode()
if child == 0:
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
assert client.get("total") == b"400"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_child_of_a_fork_has_a_connection_of_its_own() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], check=True, timeout=100)
