"""The port of a server: taken, listened at, and really closed during an outage.

A port that is bound and not listened at refuses connections. Meanwhile it is ours, but
for programs that share ports on purpose.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

from unspiral.engine.errors import BadValue, CannotListen

__all__ = ["Port"]

_BACKLOG = 1_024  # clients that may wait to be accepted
_BREATH = 0.1  # seconds until it is tried again when there are no more open files


class Port:
    """An address to listen at.

    Args:
        host: its name or number.
        port: 0 for one that is free.
        remote: whether other machines may reach it.

    Raises:
        BadValue: other machines could reach it, and `remote` is not set.
        CannotListen: there is no such host.
    """

    def __init__(self, host: str, port: int, *, remote: bool) -> None:
        self.host = host
        self.port = port
        self._family, self._address = self._resolve()
        if not remote and not ipaddress.ip_address(self._address).is_loopback:
            allowed = "a loopback address, unless remote clients are allowed explicitly"
            raise BadValue("host", host, allowed)
        self._socket: socket.socket | None = None
        self._protocol: Callable[[], asyncio.BaseProtocol] | None = None
        self._coming: dict[asyncio.Task[Any], socket.socket] = {}

    @property
    def url(self) -> str:
        """The base URL."""
        six = self._family == socket.AF_INET6
        return f"http://{f'[{self._address}]' if six else self._address}:{self.port}"

    def take(self) -> None:
        """Bind the port without listening; from now on its number is known.

        Raises:
            CannotListen: it cannot be had.
        """
        # With the protocol told, asyncio sends small pieces at once (TCP_NODELAY).
        bound = socket.socket(self._family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self._address, self.port))
        except (OSError, OverflowError) as error:
            bound.close()
            raise self._cannot(error) from None
        bound.settimeout(0)  # asyncio wants it
        self._socket = bound
        self.port = bound.getsockname()[1]

    def listen(self, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Open the port that is taken.

        Raises:
            CannotListen: somebody else listens there.
        """
        if self._socket is None:
            return  # it was given back meanwhile
        try:
            self._socket.listen(_BACKLOG)
        except OSError as error:
            self.release()
            raise self._cannot(error) from None
        self._protocol = protocol
        asyncio.get_running_loop().add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        """Take a client that waits; one at a time, so that others get their turn."""
        loop = asyncio.get_running_loop()
        listening = self._socket
        if listening is None or self._protocol is None:
            return
        try:
            client, _ = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:  # no more open files: clients wait until there are
            loop.remove_reader(listening)
            loop.call_later(_BREATH, self._again, listening)
            return
        client.setblocking(False)  # noqa: FBT003 - as the library has it
        # asyncio's own server loses a client that comes while it is being closed.
        task = loop.create_task(loop.connect_accepted_socket(self._protocol, client))
        self._coming[task] = client
        task.add_done_callback(self._came)

    def _came(self, task: "asyncio.Task[Any]") -> None:
        client = self._coming.pop(task)
        if task.cancelled() or task.exception() is not None:
            client.close()

    def _again(self, listening: socket.socket) -> None:
        if self._socket is listening:
            asyncio.get_running_loop().add_reader(listening, self._accept)

    async def settle(self) -> None:
        """Wait for clients that were accepted and are not handed over yet."""
        while self._coming:
            await asyncio.gather(*self._coming, return_exceptions=True)

    def shut(self) -> None:
        """Close the port and keep it: connections are refused until it is opened.

        Raises:
            CannotListen: somebody else has taken it at this very moment.
        """
        self.release()
        self.take()

    def release(self) -> None:
        """Give the port back."""
        if self._socket is None:
            return
        if self._protocol is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._protocol = None
        self._socket.close()
        self._socket = None

    def _resolve(self) -> tuple[socket.AddressFamily, str]:
        try:
            found = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        except (OSError, UnicodeError, OverflowError) as error:
            raise self._cannot(error) from None
        family, _, _, _, address = found[0]
        return family, str(address[0])

    def _cannot(self, error: Exception) -> CannotListen:
        words = error.strerror if isinstance(error, OSError) else str(error)
        return CannotListen(self.host, self.port, (words or "unknown").lower())
