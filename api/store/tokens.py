"""Bearer tokens, kept as digests: what is stored opens nothing.

A token is 256 random bits, so one SHA-256 is enough: there is no password to guess.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from sqlalchemy import insert, select, update

from api.store.tables import tokens

if TYPE_CHECKING:
    from api.store.store import Store

Role = Literal["agent", "reader", "admin"]
ROLES: tuple[Role, ...] = ("agent", "reader", "admin")
PREFIX = "gpudiag_"


class Token(NamedTuple):
    """What is known of a token, without the token."""

    id: str
    role: Role
    node: str | None
    note: str
    created_at: float
    revoked_at: float | None


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Tokens:
    """Create, find, list and revoke."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, role: Role, node: str | None, note: str, now: float) -> tuple[str, Token]:
        """A new token, shown this once, and its entry."""
        token = PREFIX + secrets.token_urlsafe(32)
        entry = Token(secrets.token_hex(4), role, node, note, now, None)
        with self._store.writing() as connection:
            connection.execute(insert(tokens).values(hash=digest(token), **entry._asdict()))
            subject = f"token {entry.id} ({role}{f' of {node}' if node else ''})"
            self._store.decisions.record(connection, now, "command line", "token", subject, note)
        return token, entry

    def all(self) -> list[Token]:
        columns = [tokens.c[name] for name in Token._fields]
        with self._store.reading() as connection:
            rows = connection.execute(select(*columns).order_by(tokens.c.created_at))
            return [Token(row[0], cast(Role, row[1]), *row[2:]) for row in rows]

    def valid(self) -> dict[bytes, Token]:
        """Every token that still opens something, by digest."""
        columns = [tokens.c[name] for name in Token._fields]
        statement = select(tokens.c.hash, *columns).where(tokens.c.revoked_at.is_(None))
        with self._store.reading() as connection:
            rows = connection.execute(statement)
            return {bytes(row[0]): Token(row[1], cast(Role, row[2]), *row[3:]) for row in rows}

    def revoke(self, token_id: str, now: float) -> bool:
        where = (tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
        with self._store.writing() as connection:
            revoked = connection.execute(update(tokens).where(*where).values(revoked_at=now)).rowcount > 0
            if revoked:
                self._store.decisions.record(
                    connection, now, "command line", "revoke", f"token {token_id}", ""
                )
        return revoked
