"""Rules by what a person remembers of them: an id, words of a headline or a page, the number of an Xid.

Every word has to be there, in any language. A number is looked for as an Xid, by the rules that a log line
with it brings up, and on pages that name it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gpudiag.examine import default_rules
from gpudiag.pasted import judge
from gpudiag.rule import Rule
from gpudiag.words import LANGUAGES
from gpudiag.words.pages import page_of
from gpudiag.xid import catalogue

LONGEST = 100  # characters of a question
MOST_WORDS = 8
_XID = re.compile(r"\bxids?\s*(?=\d)")
_VALUE = re.compile(r"\{[^}]*\}")  # that a finding puts in
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class _Page(NamedTuple):
    """A rule's words in every language, in small letters: id, headlines and summary, and all of its page."""

    title: str
    text: str
    numbers: frozenset[str]


def search(rules: Sequence[Rule], asked: str) -> list[Rule]:
    """The rules that have every word of `asked`: first those that have them in their title."""
    asked = asked[:LONGEST].casefold()
    words = _XID.sub("", asked).split()[:MOST_WORDS]
    xids = words if _XID.search(asked) else [word for word in words if _is_xid(word)]
    found = [rule for rule in rules if all(_has(rule, word, word in xids) for word in words)]
    return sorted(found, key=lambda rule: not all(word in _page(rule).title for word in words))


def _is_xid(word: str) -> bool:
    return word.isdecimal() and int(word) in catalogue()


def _has(rule: Rule, word: str, xid: bool) -> bool:
    if not word.isdecimal():
        return word in _page(rule).text
    if xid and rule.id in _rules_of_xid(word):
        return True
    return word in _page(rule).numbers


@lru_cache(maxsize=1024)
def _rules_of_xid(number: str) -> frozenset[str]:
    """The rules that a line of the kernel log with this Xid brings up."""
    if len(number) > 3:
        return frozenset()
    checkup = judge(f"NVRM: Xid (PCI:0000:01:00): {int(number)}, pid=1", default_rules())
    return frozenset(finding.rule for finding in checkup.findings)


def _page(rule: Rule) -> _Page:
    return _read(rule.module, rule.id, rule.summary)


@lru_cache(maxsize=512)
def _read(module: str, rule: str, summary: str) -> _Page:
    pages = [page_of(module, rule, language) for language in LANGUAGES]
    titles = [part for page in pages for part in (*page.headlines.values(), page.summary)]
    title = "\n".join([rule, rule.replace("-", " "), summary, *titles])
    text = "\n".join([title, *(page.markdown for page in pages)])
    title, text = (_VALUE.sub("…", words).casefold() for words in (title, text))
    return _Page(title, text, frozenset(_NUMBER.findall(text)))
