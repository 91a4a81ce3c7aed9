"""Bearer tokens, kept as digests: what is stored opens nothing.

A token is 256 random bits, so one SHA-256 is enough: there is no password to guess.
An agent's token is bound to one node, or to a shell pattern of names: `gpu-*`.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import secrets
from typing import Literal, NamedTuple, cast

from sqlalchemy import insert, select, update

from api.store.database import Database
from api.store.decisions import Decisions
from api.store.tables import tokens
from api.words import Sentence, Worded

Role = Literal["agent", "reader", "admin"]
PREFIX = "gpudiag_"
SHORTEST, FEWEST_SIGNS = 32, 8  # of a token that somebody else made
EVERY_NODE = "*"
_PATTERN = re.compile(r"[A-Za-z0-9._:@+\-*?\[\]!]{1,253}")
_SET = re.compile(r"\[[^\]]*\]")  # [0-9]: any of these, so nothing that a name is known by


class Weak(Worded):
    """What is to be a token could be guessed."""


class Taken(Worded):
    """The token stands for something else, or was revoked."""


class Token(NamedTuple):
    """What is known of a token, without the token. `node` is a name or a pattern of names."""

    id: str
    role: Role
    node: str | None
    note: str
    created_at: float
    revoked_at: float | None

    def covers(self, node: str) -> bool:
        """Whether an agent with this token may report as `node`."""
        return self.node is not None and fnmatch.fnmatchcase(node, self.node)


def is_pattern(node: str) -> bool:
    """Whether it stands for several names."""
    return any(sign in node for sign in "*?[")


def narrow_enough(pattern: str) -> bool:
    """Whether a pattern names a part of a fleet: a letter or digit of the names, or `*` spelled out.

    `**`, `?*` or `[a-z]*` would cover every node, and not look like it.
    """
    if pattern == EVERY_NODE:
        return True
    named = _SET.sub("", pattern)
    return bool(_PATTERN.fullmatch(pattern)) and any(sign.isalnum() for sign in named)


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Tokens:
    """Create, find, list and revoke."""

    def __init__(self, store: Database, decisions: Decisions) -> None:
        self._store, self._decisions = store, decisions

    def create(self, role: Role, node: str | None, note: str, now: float) -> tuple[str, Token]:
        """A new token, shown this once, and its entry."""
        token = PREFIX + secrets.token_urlsafe(32)
        return token, self._add(token, role, node, note, now)

    def adopt(self, token: str, role: Role, node: str | None, note: str, now: float) -> Token:
        """The entry of a token that was made elsewhere; one that is known already stays as it is.

        Raises Weak for what could be guessed, and Taken where it stands for something else.
        """
        if len(token) < SHORTEST or len(set(token)) < FEWEST_SIGNS or not token.isascii():
            raise Weak("adopt.weak", shortest=SHORTEST)
        known = self._known(digest(token))
        if known is None:
            return self._add(token, role, node, note, now)
        if known.revoked_at is not None:
            raise Taken("adopt.revoked", id=known.id)
        if (known.role, known.node) != (role, node):
            of = Sentence("adopt.taken.node", node=known.node) if known.node else ""
            raise Taken("adopt.taken", id=known.id, role=known.role, of=of)
        return known

    def _add(self, token: str, role: Role, node: str | None, note: str, now: float) -> Token:
        entry = Token(secrets.token_hex(4), role, node, note, now, None)
        with self._store.writing() as connection:
            connection.execute(insert(tokens).values(hash=digest(token), **entry._asdict()))
            subject = f"token {entry.id} ({role}{f' of {node}' if node else ''})"
            self._decisions.record(connection, now, "command line", "token", subject, note)
        return entry

    def _known(self, hashed: bytes) -> Token | None:
        columns = [tokens.c[name] for name in Token._fields]
        with self._store.reading() as connection:
            row = connection.execute(select(*columns).where(tokens.c.hash == hashed)).one_or_none()
        return None if row is None else Token(row[0], cast(Role, row[1]), *row[2:])

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
                self._decisions.record(connection, now, "command line", "revoke", f"token {token_id}", "")
        return revoked
