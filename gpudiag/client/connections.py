"""Connections to one address, kept alive and shared by threads.

Built on `http.client`, so that an agent pays little memory for it.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections import deque
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from gpudiag.client.failures import Answer, ApiError, Broken, Refused, Unreachable
from gpudiag.words.refusals import Refusal

LARGEST_ANSWER = 64 << 20
IDLE_KEPT = 8
CERTIFICATES = {
    9: "api-cert-time",  # not yet valid
    10: "api-cert-time",  # expired
    62: "api-cert-name",  # another host name
    64: "api-cert-name",  # another IP address
}
"""Refusals of a certificate by OpenSSL's number (X509_V_ERR_…); by any other it is not trusted."""
NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")
"""How OpenSSL calls an answer that is none of TLS."""


class Connections:
    """`exchange` a request for an answer with what is at `url`; `timeout` covers one request."""

    def __init__(self, url: str, timeout: float) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(Refusal("api-no-address", url=url))
        self._prefix = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self._prefix}"
        self._timeout = timeout
        self._secure = parts.scheme == "https"
        try:
            self._host, self._port = parts.hostname, parts.port
        except ValueError:
            raise Refused(Refusal("api-no-port", url=url)) from None
        self._idle: deque[http.client.HTTPConnection] = deque()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        """The answer, whatever its status; raises Unreachable or Broken where none came."""
        path = self._prefix + path
        connection = self._idle.pop() if self._idle else None
        if connection is not None:
            try:
                return self._once(connection, method, path, body, headers)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                connection.close()  # the server closed it while idle: once more on a new one
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                raise self._unreachable(error) from None
        connection = self._connection()
        try:
            return self._once(connection, method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from None
        except BaseException:
            connection.close()
            raise

    def _connection(self) -> http.client.HTTPConnection:
        make = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return make(self._host, self._port, timeout=self._timeout)

    def _once(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Answer:
        if connection.sock is None:
            connection.connect()
            connected: Any = connection.sock
            # Headers and body are two writes: without this the second waits for the first one's ack.
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        until = time.monotonic() + self._timeout
        connection.request(method, path, body=body, headers=dict(headers))
        response = connection.getresponse()
        content = self._content(response, until)
        if len(content) > LARGEST_ANSWER:
            connection.close()
            raise Broken(Refusal("api-endless", url=self.url, mebibytes=LARGEST_ANSWER >> 20))
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, content)
        if response.will_close or len(self._idle) >= IDLE_KEPT:
            connection.close()
        else:
            self._idle.append(connection)
        return answer

    @staticmethod
    def _content(response: http.client.HTTPResponse, until: float) -> bytes:
        """The body, in time and not without end: a byte a second is no answer."""
        parts, size = [], 0
        while size <= LARGEST_ANSWER and (part := response.read1(1 << 18)):
            parts.append(part)
            size += len(part)
            if time.monotonic() > until:
                raise TimeoutError
        if response.length and size <= LARGEST_ANSWER:
            raise http.client.IncompleteRead(b"".join(parts), response.length)
        response.close()  # the answer, not the connection
        return b"".join(parts)

    def _unreachable(self, error: Exception) -> ApiError:
        if isinstance(error, TimeoutError):
            return Unreachable(Refusal("api-silent", url=self.url, seconds=f"{self._timeout:g}"))
        if isinstance(error, http.client.HTTPException):
            return Broken(Refusal("api-not-http", url=self.url, reason=type(error).__name__))
        if isinstance(error, socket.gaierror):
            return Unreachable(Refusal("api-no-host", url=self.url, host=self._host))
        if isinstance(error, ConnectionRefusedError):
            return Unreachable(Refusal("api-nobody", url=self.url))
        if isinstance(error, ssl.SSLCertVerificationError):
            key = CERTIFICATES.get(error.verify_code, "api-cert-unknown")
            return Unreachable(Refusal(key, url=self.url, reason=error.verify_message.rstrip(".")))
        if isinstance(error, ssl.SSLError) and error.reason in NO_TLS:
            return Unreachable(Refusal("api-no-tls", url=self.url))
        return Unreachable(Refusal("api-unreachable", url=self.url, reason=error))
