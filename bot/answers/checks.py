"""What was looked at in a set-up, and what it lacks, as one answer with the cures."""

from __future__ import annotations

from dataclasses import dataclass

from bot.answer import Answer, Step
from bot.questions import ApiRefused, Questions
from bot.words import say
from gpudiag import __version__
from gpudiag.errors import GpudiagError


@dataclass(frozen=True)
class Check:
    """One thing looked at. `good` is None where an optional feature is only switched off."""

    text: str
    good: bool | None
    cure: str = ""


def of_checks(checks: list[Check], lang: str) -> Answer:
    bad = [check for check in checks if check.good is False]
    off = [check for check in checks if check.good is None]
    signs = {True: "d.s.ok", False: "d.s.bad", None: "d.s.off"}
    return Answer(
        headline=say(lang, "d.bad", count=len(bad)) if bad else say(lang, "d.ok"),
        lang=lang,
        state="warning" if bad else "ok",
        facts=(f"gpudiag {__version__}", *((say(lang, "d.more", count=len(off)),) if off else ())),
        paragraphs=tuple(f"{say(lang, signs[check.good])} {check.text}" for check in checks),
        steps=tuple(Step(check.cure) for check in (*bad, *off) if check.cure),
    )


def check_api(api: Questions, lang: str) -> Check:
    try:
        nodes = api.nodes(limit=1, lang=lang)["items"]
    except ApiRefused as refused:
        key = "e.token" if refused.status in (401, 403) else "e.refused"
        return Check(say(lang, "d.api.no"), False, say(lang, key, detail=refused.said(lang)))
    except GpudiagError as error:
        return Check(say(lang, "d.api.no"), False, error.said(lang))
    except (LookupError, TypeError):
        return Check(say(lang, "d.api.no"), False, say(lang, "e.nonsense"))
    return Check(say(lang, "d.api.yes" if nodes else "d.api.empty"), True)
