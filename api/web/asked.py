"""What the pages ask of the application around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gpudiag.examine import Ruleset
from gpudiag.words import Language

Chat = Callable[[str, Language], str]
"""A line of chat and a language → the answer as HTML that is safe to show."""


class Answers(Protocol):
    """The application's answers. Errors are GpudiagError with a `status`; the pages show their sentence."""

    rules: Ruleset

    def fleet(
        self, language: Language, severity: str | None = None, *, skip: int = 0, most: int | None = None
    ) -> list[dict[str, Any]]:
        """Nodes as `GET /v1/nodes` lists them, worst first: those of one severity, `most` of them."""

    def counts(self) -> dict[str, int]:
        """How many nodes have each severity that one has."""

    def now(self) -> float:
        """The server's clock, in Unix seconds."""

    def diagnosis(self, node: str, language: Language, at: str | None = None) -> dict[str, Any]:
        """One node's diagnosis, as `GET /v1/nodes/{node}` answers it."""

    def history(self, node: str, seconds: float, at: str | None = None) -> dict[str, Any]:
        """`{"gpus": [{"index", "series": {metric: [[unix seconds, value or null], …]}}]}`, oldest first."""

    def pasted(self, text: bytes, language: Language) -> dict[str, Any]:
        """The diagnosis of pasted tool output, as `POST /diagnose` answers it."""

    def must_log_in(self) -> bool:
        """Whether the request at hand may not read the pages before it shows a token."""

    def accepts(self, token: str) -> bool:
        """Whether a token may read."""

    def from_our_page(self) -> bool:
        """Whether no page of another site made the browser send the request at hand."""

    def encrypted(self) -> bool:
        """Whether the pages are reached by https, here or at the proxy in front."""
