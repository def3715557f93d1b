"""The port of a server: taken, listened at, and really closed during an outage.

A port that is bound and not listened at refuses connections, and nobody else can have
it meanwhile.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Callable

from unspiral.engine.errors import BadValue, CannotListen

__all__ = ["Port"]


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
        self._server: asyncio.Server | None = None

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
        bound = socket.socket(self._family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self._address, self.port))
        except (OSError, OverflowError) as error:
            bound.close()
            raise self._cannot(error) from None
        bound.settimeout(0)  # asyncio wants it
        self._socket = bound
        self.port = bound.getsockname()[1]

    async def listen(self, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Open the port that is taken.

        Raises:
            CannotListen: somebody else listens there.
        """
        loop = asyncio.get_running_loop()
        opening, self._socket = self._socket, None
        if opening is None:
            return  # it was given back meanwhile
        try:
            self._server = await loop.create_server(
                protocol, sock=opening, backlog=1_024
            )
        except OSError as error:
            opening.close()
            raise self._cannot(error) from None

    def shut(self) -> None:
        """Close the port and keep it: connections are refused until it is opened.

        Raises:
            CannotListen: somebody else has taken it at this very moment.
        """
        self.release()
        self.take()

    def release(self) -> None:
        """Give the port back."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._socket is not None:
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
