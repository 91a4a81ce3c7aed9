"""A rule's page: chat words and runbook in one Markdown file.

    # memory full, util 0%: reserved KV pool, normal          the headline
    # [looks-like] memory full, util 0%: looks like …         the headline of a variant
    ## Summary                                                not in English, where it is the docstring of
                                                              the rule: a line for lists, without values
    ## What is seen                                           the four sections, always in this order
    ## What it means
    ## What it means [looks-like]                             a section of its own for a variant
    ## What it does not mean
    ## What to do next                                        a numbered list; a line that is one code span
    1. Look at the neighbours.                                is the step's command
       `gpudiag why {node}`
    ## Evidence                                               optional: `- name: label`, the rule's own names
    ## Cases                                                  not in English: `- title → title` of cases
    ## Sources                                                a list

Section titles stand in the page's language. `{name}` is a value of the finding: an evidence by its name,
`{name.of}` what it is compared with, `{name.window}` its span; else one of the finding's `words`, or `{gpu}`,
`{node}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files

SECTIONS = {
    "en": {
        "What is seen": "seen",
        "What it means": "means",
        "What it does not mean": "does_not_mean",
        "What to do next": "next",
        "Evidence": "evidence",
        "Sources": "sources",
    },
    "ko": {
        "요약": "summary",
        "보이는 것": "seen",
        "의미": "means",
        "의미하지 않는 것": "does_not_mean",
        "다음에 할 일": "next",
        "근거": "evidence",
        "사례": "cases",
        "출처": "sources",
    },
}
REQUIRED = ("seen", "means", "does_not_mean", "next", "sources")

_HEADING = re.compile(r"^(#{1,2}) (?:\[(?P<before>[\w-]+)\] )?(?P<title>.+?)(?: \[(?P<after>[\w-]+)\])?\s*$")
_STEP = re.compile(r"^\d+\.\s+(.*)$")
_COMMAND = re.compile(r"^`([^`]+)`$")
_PLACEHOLDER = re.compile(r"\{([a-z][\w-]*)(?:\.(of|window))?\}")
_NAME = re.compile(r"^- ([\w.]+):\s*(.+)$")
_CASE = re.compile(r"^- (.+?) → (.+)$")


class BadPage(Exception):
    """A page does not have the sections every page has."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do; `command` may be empty."""

    text: str
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A rule's words in one language; templates still hold their placeholders."""

    rule: str
    language: str
    headlines: dict[str | None, str]
    sections: dict[tuple[str, str | None], str]
    summary: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    cases: dict[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    markdown: str = ""

    def headline(self, variant: str | None) -> str:
        return self.headlines.get(variant) or self.headlines[None]

    def section(self, name: str, variant: str | None) -> str:
        return self.sections.get((name, variant)) or self.sections[name, None]

    def title(self, case: str) -> str:
        """The title of a case; cases have it in English, the pages of other languages in their own words."""
        return self.cases.get(case, case)

    def steps(self, variant: str | None) -> list[Step]:
        return steps_of(self.section("next", variant))


def steps_of(text: str) -> list[Step]:
    """The numbered items of a section; a line that is one code span is the item's command."""
    steps: list[Step] = []
    lines: list[str] = []
    command: str | None = None
    for raw in [*text.splitlines(), "0. end"]:
        line = raw.strip()
        item = _STEP.match(line)
        if item:
            if lines:
                steps.append(Step(" ".join(lines), command))
            lines, command = [item[1]], None
        elif _COMMAND.match(line):
            command = line.strip("`")
        elif line:
            lines.append(line)
    return steps


def parse(rule: str, language: str, markdown: str) -> Page:
    """Read a page; raises BadPage naming what is missing."""
    titles = SECTIONS[language]
    headlines: dict[str | None, str] = {}
    sections: dict[tuple[str, str | None], list[str]] = {}
    current: list[str] | None = None
    for line in markdown.splitlines():
        heading = _HEADING.match(line)
        if heading and heading[1] == "#":
            headlines[heading["before"]] = heading["title"] + (
                f" [{heading['after']}]" if heading["after"] else ""
            )
        elif heading:
            name = titles.get(heading["title"])
            if name is None:
                raise BadPage(f"{rule} ({language}): unknown section {heading['title']!r}")
            current = sections.setdefault((name, heading["after"]), [])
        elif current is not None:
            current.append(line)
    missing = [name for name in REQUIRED if not sections.get((name, None))]
    if missing or None not in headlines:
        raise BadPage(f"{rule} ({language}): no {', '.join(missing) or 'headline'}")
    summary = " ".join(sections.pop(("summary", None), [])).strip()
    named = (_NAME.match(line) for line in sections.pop(("evidence", None), []))
    labels = {match[1]: match[2] for match in named if match}
    titled = (_CASE.match(line) for line in sections.pop(("cases", None), []))
    return Page(
        rule=rule,
        language=language,
        headlines=headlines,
        sections={key: "\n".join(lines).strip() for key, lines in sections.items()},
        summary=summary,
        labels=labels,
        cases={match[1]: match[2] for match in titled if match},
        sources=tuple(line[2:].strip() for line in sections[("sources", None)] if line.startswith("- ")),
        markdown=markdown,
    )


@cache
def page_of(module: str, rule: str, language: str) -> Page:
    """The page of the rule that lives in `module`."""
    return parse(rule, language, (files(module) / f"{language}.md").read_text(encoding="utf-8"))


def fill(template: str, value: Callable[[str, str | None], str | None]) -> str:
    """Put values in; `value(name, part)` gives the text, or None where it is not known."""

    def put(match: re.Match[str]) -> str:
        return value(match[1], match[2]) or "?"

    if "{" not in template:
        return template
    return _PLACEHOLDER.sub(put, template)


def placeholders(template: str) -> set[tuple[str, str | None]]:
    """(name, part) pairs that a template asks for."""
    return {(match[1], match[2]) for match in _PLACEHOLDER.finditer(template)}


@lru_cache(maxsize=4096)
def flowing(text: str) -> str:
    """Markdown paragraphs as running text: one line a paragraph, emphasis removed."""
    paragraphs = [" ".join(p.split()) for p in text.split("\n\n")]
    return "\n".join(re.sub(r"\*\*(.+?)\*\*", r"\1", p) for p in paragraphs if p)
