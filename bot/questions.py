"""What the bot asks of the gpudiag API, and the errors it may get back."""

from __future__ import annotations

from typing import Any, Protocol

from gpudiag.errors import GpudiagError

Json = dict[str, Any]


class Questions(Protocol):
    """The API as the bot needs it; every answer is the JSON of the contract.

    `lang` is the language of the answer's words, and of what is said where it is refused.
    """

    def diagnosis(
        self, node: str, gpu: int | None = None, at: str | None = None, lang: str = "en"
    ) -> Json: ...

    def nodes(self, limit: int | None = None, cursor: str | None = None, lang: str = "en") -> Json: ...

    def history(self, node: str, lang: str = "en") -> Json: ...

    def findings(self, after: str | None = None, limit: int | None = None) -> Json: ...

    def finding(self, finding: str, lang: str = "en") -> Json: ...

    def kv(self, lang: str = "en", **options: str) -> Json: ...

    def read_paste(self, text: str, lang: str = "en") -> Json: ...

    def rules(self, lang: str = "en") -> Json: ...

    def acknowledge(self, finding: str, *, by: str, reason: str = "", lang: str = "en") -> Json: ...

    def mute(
        self, node: str, *, seconds: float, by: str, reason: str = "", rule: str | None = None,
        lang: str = "en",
    ) -> Json: ...  # fmt: skip

    def mutes(self, lang: str = "en") -> Json: ...

    def unmute(self, mute: str, *, by: str, lang: str = "en") -> None: ...


class NoAnswer(GpudiagError):
    """The API did not give what was asked for; `why` is its own sentence, or the client's error."""

    def __init__(self, why: str | GpudiagError):
        super().__init__(str(why))
        self.why = why

    def said(self, language: str) -> str:
        return self.why.said(language) if isinstance(self.why, GpudiagError) else self.why


class ApiAway(NoAnswer):
    """The API cannot be reached."""

    status = 502


class ApiSlow(NoAnswer):
    """The API did not answer in time."""

    status = 504


class ApiNonsense(NoAnswer):
    """The API answered something that is no answer of ours."""

    status = 502


class ApiRefused(NoAnswer):
    """The API understood and said no; `nearest` are the names it offers."""

    def __init__(self, status: int, why: str | GpudiagError, nearest: tuple[str, ...] = ()):
        super().__init__(why)
        self.status = status
        self.nearest = nearest
