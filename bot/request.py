"""The nouns of a question: what was asked (`Request`), about whom (`Target`), what hinders it (`Problem`)."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """What a question is about: a node, one of its GPUs, or the owner of a process (pod, job, pid).

    Where an owner runs is the API's to say; it takes `place` instead of a node's name.
    """

    name: str
    gpu: int | None = None
    kind: str = "node"

    @property
    def place(self) -> str:
        return self.name if self.kind == "node" else f"{self.kind}:{self.name}"

    @property
    def asked(self) -> str:
        """As a button asks for it: a node called `slow` or `list` is no other word of a sentence here."""
        gpu = "" if self.gpu is None else f" gpu:{self.gpu}"
        return f"{self.kind}/{self.name}{gpu}"

    def __str__(self) -> str:
        if self.kind != "node":
            return f"{self.kind}/{self.name}"
        return self.name if self.gpu is None else f"{self.name}:{self.gpu}"


@dataclass(frozen=True)
class Problem:
    """Why a sentence could not be followed as it stands, and the nearest one that could."""

    kind: str  # unknown-verb | unknown-word | missing | unknown-option | bad-value | bad-duration | bad-time
    word: str = ""
    suggestion: str = ""


@dataclass(frozen=True)
class Request:
    """One understood sentence. `words` are what the verb's own fields do not hold."""

    verb: str
    target: Target | None = None
    words: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    at: str | None = None
    seconds: float | None = None
    here: bool = False
    lang: str | None = None
    problem: Problem | None = None

    @property
    def text(self) -> str:
        """The sentence again, in its plainest English form: what a button carries and `read` understands."""
        options = dict(self.options)
        reason, rule, gpu = (options.pop(name, "") for name in ("reason", "rule", "gpu"))
        parts = [self.verb, self.target.asked if self.target else "", rule, *self.words]
        parts.append(options.pop("tokens", ""))
        parts.append(f"x{options.pop('requests')}" if "requests" in options else "")
        parts += [f"{key}={value}" for key, value in options.items()]
        parts += [f"on {gpu}" if gpu else "", reason, f"at {self.at}" if self.at else ""]
        return " ".join(part for part in parts if part)
