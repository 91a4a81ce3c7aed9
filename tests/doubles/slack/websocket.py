"""The server's end of a WebSocket (RFC 6455), as much of it as Socket Mode uses."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import struct
import threading
from typing import Any

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def accept_key(key: str) -> str:
    return base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()


class Connection:
    """One connected bot. Its acks are collected by envelope id."""

    def __init__(self, sock: socket.socket):
        self.sock = sock
        self.lock = threading.Lock()
        self.acks: dict[str, Any] = {}
        self.arrived = threading.Condition()
        self.open = True

    def send(self, message: Any) -> None:
        self.frame(TEXT, json.dumps(message).encode())

    def frame(self, opcode: int, data: bytes) -> None:
        head = bytes([0x80 | opcode])
        if len(data) < 126:
            head += bytes([len(data)])
        elif len(data) < 65536:
            head += bytes([126]) + struct.pack("!H", len(data))
        else:
            head += bytes([127]) + struct.pack("!Q", len(data))
        with self.lock:
            self.sock.sendall(head + data)

    def serve(self) -> None:
        """Read until the other side is gone."""
        try:
            while self.open:
                opcode, data = self.read_frame()
                if opcode == PING:
                    self.frame(PONG, data)
                elif opcode == CLOSE:
                    break
                elif opcode == TEXT:
                    self.take(json.loads(data))
        except (OSError, EOFError):
            pass
        finally:
            self.open = False
            with self.arrived:
                self.arrived.notify_all()

    def take(self, message: Any) -> None:
        with self.arrived:
            self.acks[message["envelope_id"]] = message.get("payload")
            self.arrived.notify_all()

    def read_frame(self) -> tuple[int, bytes]:
        first, second = self.exactly(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", self.exactly(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self.exactly(8))
        mask = self.exactly(4) if second & 0x80 else b"\0\0\0\0"
        data = self.exactly(length)
        return first & 0x0F, bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.sock.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def ack_of(self, envelope: str, seconds: float) -> tuple[bool, Any]:
        with self.arrived:
            done = self.arrived.wait_for(lambda: envelope in self.acks or not self.open, seconds)
            return bool(done and envelope in self.acks), self.acks.get(envelope)

    def close(self) -> None:
        self.open = False
        try:
            self.frame(CLOSE, b"")
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
