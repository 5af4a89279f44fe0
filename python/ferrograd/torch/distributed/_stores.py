"""Stores of keys and values, by which processes of one machine, or of several, tell each other what they need."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import socketserver
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, NoReturn

from ferrograd._kit.forks import Lock

try:
    import fcntl
except ImportError:  # Windows has no such locks of files.
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "HashStore",
    "PrefixStore",
    "Store",
    "TCPStore",
]

#: The seconds between two questions whether a key is there.
_PAUSE = 0.005
#: The seconds that the master has at least for an answer, however short the timeout for keys is.
_ANSWER = 30.0


class DistError(RuntimeError):
    """An error of processes that work together."""


class DistStoreError(DistError):
    """A key did not come into a store in time."""


class DistNetworkError(DistError):
    """The process that has a store cannot be reached."""


def _add(table: dict[str, str], key: str, amount: int) -> int:
    total = int(table.get(key, "0")) + amount
    table[key] = str(total)
    return total


def _compare_set(table: dict[str, str], key: str, expected: str, desired: str) -> str:
    if table.get(key, "") == expected:
        table[key] = desired
    return table.get(key, expected)


#: The requests to a store: what each does with the table of keys and values while nobody else reads or writes it.
_REQUESTS: dict[str, Callable[..., Any]] = {
    "add": _add,
    "append": lambda table, key, value: table.update({key: table.get(key, "") + value}),
    "check": lambda table, *keys: all(key in table for key in keys),
    "compare_set": _compare_set,
    "delete": lambda table, key: table.pop(key, None) is not None,
    "get": lambda table, key: table.get(key),
    "num_keys": len,
    "set": lambda table, key, value: table.update({key: value}),
}


def _text(value: str | bytes) -> str:
    """A value as text, a character for each byte."""
    if not isinstance(value, str | bytes):
        raise TypeError(f"a value of a store is a str or bytes, not {type(value).__name__}")
    return (value.encode() if isinstance(value, str) else value).decode("latin-1")


class Store:
    """Keys and values that several processes, or threads, read and write."""

    _timeout = timedelta(seconds=300)

    def _ask(self, name: str, keys: Iterable[str], *values: Any) -> Any:
        """The answer to one of the requests, whose keys are checked."""
        listed: list[Any] = [None] if isinstance(keys, str) else list(keys)
        if not all(isinstance(key, str) for key in listed):
            raise TypeError(f"{name}: the keys of a store are a list of str, not {keys!r:.60}")
        return self._answer(name, listed, *values)

    def _answer(self, name: str, keys: list[str], *values: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} is the base of the stores")

    @property
    def timeout(self) -> timedelta:
        """The time for which ``get`` and ``wait`` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets the time for which ``get`` and ``wait`` wait for a key."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Sets the value of a key."""
        self._ask("set", [key], _text(value))

    def get(self, key: str) -> bytes:
        """The value of a key, once it is there."""
        found: str | None
        while (found := self._ask("get", [key])) is None:
            self.wait([key])
        return found.encode("latin-1")

    def add(self, key: str, amount: int) -> int:
        """Adds to the number that a key has, which begins at 0, and gives the sum."""
        return int(self._ask("add", [key], int(amount)))

    def append(self, key: str, value: str | bytes) -> None:
        """Adds to the end of a value."""
        self._ask("append", [key], _text(value))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Sets a key that has the expected value, or that is not there where that is empty. Gives the value then."""
        found: str = self._ask("compare_set", [key], _text(expected_value), _text(desired_value))
        return found.encode("latin-1")

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return bool(self._ask("check", keys))

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Waits until all keys are there.

        Raises:
            DistStoreError: they are not there in time.
        """
        end = time.monotonic() + (self._timeout if timeout is None else timeout).total_seconds()
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(f"Wait timeout: not all of {list(keys)} were set in time")
            time.sleep(_PAUSE)

    def delete_key(self, key: str) -> bool:
        """Removes a key, and says whether it was there."""
        return bool(self._ask("delete", [key]))

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._ask("num_keys", []))

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values of several keys, once they are there."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[str | bytes]) -> None:
        """Sets the values of several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """True: ``append``, ``multi_get`` and ``multi_set`` are here."""
        return True

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object: make one in each process")


class HashStore(Store):
    """A store of the threads of one process."""

    def __init__(self) -> None:
        self._table: dict[str, str] = {}
        self._lock = Lock()

    def _answer(self, name: str, keys: list[str], *values: Any) -> Any:
        with self._lock:
            return _REQUESTS[name](self._table, *keys, *values)


class FileStore(Store):
    """A store in a file that several processes have."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        if fcntl is None:
            raise NotImplementedError("FileStore: this system cannot lock files; use a TCPStore")
        self.path = os.fspath(file_name)

    def _answer(self, name: str, keys: list[str], *values: Any) -> Any:
        with open(self.path, "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = file.read()
            table = json.loads(before or "{}")
            answer = _REQUESTS[name](table, *keys, *values)
            after = json.dumps(table)
            if after != before:
                file.truncate(0)
                file.write(after)
            return answer


class PrefixStore(Store):
    """A store whose keys begin with a prefix in another one."""

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = prefix, store
        self._timeout = store.timeout

    def _answer(self, name: str, keys: list[str], *values: Any) -> Any:
        return self.underlying_store._ask(name, [f"{self.prefix}/{key}" for key in keys], *values)


class _Server(socketserver.ThreadingTCPServer):
    """The process that has the keys and values answers the others, each on a thread."""

    allow_reuse_address = daemon_threads = True
    #: As many processes may ask for a connection at the same time.
    request_queue_size = 128

    def __init__(self, address: tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Answering)
        self.store, self._process = HashStore(), os.getpid()
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def stop(self) -> None:
        """Lets the port go."""
        # The child of a fork has the socket, and not the thread that serves.
        if os.getpid() == self._process:
            self.shutdown()
        self.server_close()


class _Answering(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        # A process that has gone asks no more.
        with contextlib.suppress(ConnectionError):
            for line in self.rfile:
                try:
                    answer = {"found": self.server.store._ask(*json.loads(line))}
                except (LookupError, TypeError, ValueError) as error:
                    answer = {"error": str(error)}
                self.wfile.write(json.dumps(answer).encode() + b"\n")


def _line(connection: socket.socket) -> bytes:
    """The line that comes next, or what there is of it when the connection ends."""
    found = b""
    while not found.endswith(b"\n") and (more := connection.recv(1 << 16)):
        found += more
    return found


class TCPStore(Store):
    """A store in the memory of one process, the master, which others reach over the network.

    The child of a fork makes a connection of its own when it first asks. ``multi_tenant`` and ``use_libuv`` change
    nothing.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = Store._timeout,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        if master_listen_fd is not None:
            raise NotImplementedError("TCPStore: the server opens a socket of its own; leave out master_listen_fd")
        self._timeout, self._lock = timeout, Lock()
        self._connection: socket.socket | None = None
        self.host, self.port = host_name, port
        if is_master:
            try:
                server = _Server((host_name, port))
            except OSError as error:
                text = f"The server socket has failed to listen on ({host_name}, {port}): {error}"
                raise DistNetworkError(text) from error
            self.port = server.server_address[1]
            weakref.finalize(self, server.stop)
        end = time.monotonic() + timeout.total_seconds()
        self._connect(end)
        # The number of processes that are there is the value of a key.
        here = self.add("init/", 1)
        while is_master and wait_for_workers and here < (world_size or 0):
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {timeout} waiting for clients. {here}/{world_size} clients joined."
                )
            time.sleep(_PAUSE)
            here = self.add("init/", 0)

    def _connect(self, end: float) -> None:
        """Connects this process to the master, which may begin later, but before ``end``."""
        seconds = self._timeout.total_seconds()
        while True:
            try:
                connection = socket.create_connection((self.host, self.port), seconds)
                break
            except OSError as error:
                if time.monotonic() > end:
                    text = f"The client socket has timed out after {self._timeout} while trying to connect to"
                    raise DistNetworkError(f"{text} ({self.host}, {self.port}): {error}") from error
                time.sleep(10 * _PAUSE)
        connection.settimeout(max(seconds, _ANSWER))
        self._connection, self._process = connection, os.getpid()
        weakref.finalize(self, connection.close)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _answer(self, name: str, keys: list[str], *values: Any) -> Any:
        request, line = json.dumps([name, keys, *values]).encode() + b"\n", b""
        with self._lock:
            if self._connection is None or self._process != os.getpid():
                self._disconnect()
                self._connect(time.monotonic())
            assert self._connection is not None
            try:
                self._connection.sendall(request)
                line = _line(self._connection)
            except OSError as error:
                raise DistNetworkError(f"{name}: {error}") from error
            finally:
                # The rest of the answer must not be taken for that to the next request.
                if not line.endswith(b"\n"):
                    self._disconnect()
        if not line.endswith(b"\n"):
            raise DistNetworkError("Connection was likely closed. Did the remote server shutdown or crash?")
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["found"]
