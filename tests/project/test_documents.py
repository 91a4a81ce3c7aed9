"""The documents that people read first: both languages say the same, links lead somewhere, commands exist.

What must be the same is read section by section: headings, commands, links, code, and the numbers in tables.
Small numbers may be words or digits; comments in blocks of code are each language's own.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import dropwhile, groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from gpudiag.cli import COMMANDS
from gpudiag.cli.plugins import find
from gpudiag.errors import GpudiagError
from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.plaintext import diagnosis_text
from gpudiag.simulator import fleet
from gpudiag.window import Window
from gpudiag.words import LANGUAGES, Language

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DEPLOY = ROOT / "deploy"
ALL = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *DEPLOY.rglob("*.md")])
ENGLISH_ALONE = {"CHANGELOG.md", "CONTRIBUTING.md", "comparison.md"}
GUIDES = [
    path
    for path in ALL
    if path.parent in (ROOT, DOCS, DEPLOY)
    and path.name not in ENGLISH_ALONE
    and not path.name.endswith(".ko.md")
]
ENGLISH = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
KOREAN = ("두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열", "열한", "열두")
DIGITS = {word: str(number) for words in (ENGLISH, KOREAN) for number, word in enumerate(words, start=2)}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


# ------------------------------------------------------------------------------------- reading them


@dataclass
class Section:
    """A heading and what stands below it."""

    depth: int = 0
    title: str = ""
    links: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)


@cache
def sections(path: Path) -> list[Section]:
    """The first is what stands before any heading."""
    found, within = [Section()], ""
    for token in MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8")):
        if token.type == "heading_open":
            found.append(Section(depth=int(token.tag[1])))
        here = found[-1]
        if token.type == "fence":
            here.blocks.append(token.content)
        elif token.type == "table_open":
            here.tables.append([])
        elif token.type == "tr_open":
            here.tables[-1].append([])
        elif token.type == "inline":
            if within == "heading_open":
                here.title = token.content
            elif within in ("th_open", "td_open"):
                here.tables[-1][-1].append(token.content)
            _take(token, here)
        within = token.type
    return found


def _take(inline: Token, section: Section) -> None:
    for part in inline.children or ():
        if part.type == "code_inline":
            section.code.append(part.content)
        elif part.type in ("link_open", "image"):
            section.links.append(unquote(str(part.attrs["href" if part.type == "link_open" else "src"])))


def slugs(path: Path) -> list[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    seen: Counter[str] = Counter()
    made = []
    for section in sections(path)[1:]:
        slug = re.sub(r"[^\w\- ]", "", section.title.lower()).replace(" ", "-")
        made.append(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return made


def relative_links(path: Path) -> Iterator[tuple[str, Path, str]]:
    """Each link to a file of ours: as written, the file, the anchor."""
    for link in (link for section in sections(path) for link in section.links):
        file, _, anchor = link.partition("#")
        if not re.match(r"[a-z]+:", link):
            yield link, (path.parent / file).resolve() if file else path, anchor


# --------------------------------------------------------------------------------------- two languages


def korean(guide: Path) -> Path:
    return guide.with_suffix(".ko.md")


def without_language(path: Path, link: str) -> str:
    """Where a link leads, whichever language it leads to: anchors by the heading's place."""
    if re.match(r"[a-z]+:", link):
        return link
    file, _, anchor = link.partition("#")
    target = (path.parent / file).resolve() if file else path
    place = slugs(target).index(anchor) if anchor and target.suffix == ".md" else ""
    return re.sub(r"\.(en|ko)(?=\.\w+$)", "", str(target)) + f"#{place}"


def commands(block: str) -> list[str]:
    """The lines of a block that a person types: those after `$`, else all; without comments and language."""
    lines = [re.sub(r"\s+#.*", "", line).rstrip() for line in block.splitlines()]
    typed = [line for line in lines if line.startswith("$ ")]
    return [re.sub(r"[?&]lang=ko| --lang ko", "", line) for line in typed or lines]


def numbers(cell: str) -> str:
    digits = re.sub(r"\b[a-z가-힣]+\b", lambda word: DIGITS.get(word[0], word[0]), cell)
    return " ".join(sorted(number.rstrip(".,") for number in re.findall(r"\d[\d.,]*", digits)))


@pytest.mark.parametrize("guide", GUIDES, ids=name)
def test_each_language_is_a_link_away(guide: Path) -> None:
    for one, other in ((guide, korean(guide)), (korean(guide), guide)):
        assert f"[{other.name}]({other.name})" in "\n".join(one.read_text("utf-8").splitlines()[:4])


@pytest.mark.parametrize("guide", GUIDES, ids=name)
def test_both_languages_have_the_same_headings(guide: Path) -> None:
    english, other = sections(guide), sections(korean(guide))

    assert [section.depth for section in english] == [section.depth for section in other]


def code(path: Path, section: Section) -> list[str]:
    return sorted(inline.replace(".ko.md", ".md") for inline in section.code)


def blocks(path: Path, section: Section) -> list[str]:
    return ["\n".join(commands(block)) for block in section.blocks]


def links(path: Path, section: Section) -> list[str]:
    return sorted(without_language(path, link) for link in section.links)


def table_rows(path: Path, section: Section) -> list[str]:
    """The numbers of each row, cell by cell."""
    return [" | ".join(map(numbers, row)) for table in section.tables for row in table]


@pytest.mark.parametrize("read", [code, blocks, links, table_rows])
@pytest.mark.parametrize("guide", GUIDES, ids=name)
def test_both_languages_have_the_same(guide: Path, read: Callable[[Path, Section], list[str]]) -> None:
    apart = []
    for ours, theirs in zip(sections(guide), sections(korean(guide)), strict=True):
        english, other = read(guide, ours), read(korean(guide), theirs)
        if english != other:
            apart.append((ours.title, diff(english, other), theirs.title, diff(other, english)))

    assert [] == apart


def diff(one: list[str], other: list[str]) -> list[str]:
    """What stands in one and not in the other; all of it where only the order differs."""
    return list((Counter(one) - Counter(other)).elements()) or one


@pytest.mark.parametrize("guide", GUIDES, ids=name)
def test_a_reader_stays_in_their_language(guide: Path) -> None:
    """A link leads to the reader's language where there is one; but for the way to the other language."""
    strayed = []
    for path, foreign in ((guide, "ko"), (korean(guide), "en")):
        away = Counter(link for link, target, _ in relative_links(path) if language(target) == foreign)
        strayed += [link for link in away if away[link] > 1 or link not in (guide.name, korean(guide).name)]

    assert [] == strayed


def language(target: Path) -> str | None:
    """The language of a file that there is in both; None of the others."""
    marked = re.search(r"\.(en|ko)\.\w+$", target.name)
    if marked:
        return marked[1]
    return "en" if korean(target).exists() else None


# ---------------------------------------------------------------------------------------- every document


@pytest.mark.parametrize("path", ALL, ids=name)
def test_every_link_leads_to_a_file_and_a_heading_that_exist(path: Path) -> None:
    dead = [
        link
        for link, target, anchor in relative_links(path)
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in slugs(target))
    ]

    assert [] == dead


@pytest.mark.parametrize("path", ALL, ids=name)
def test_every_command_shown_is_one_that_the_program_takes(path: Path) -> None:
    blocks = [block.replace("\\\n", " ") for section in sections(path) for block in section.blocks]
    typed = [words for block in blocks for line in block.splitlines() for words in called(line)]
    spoken = [words for section in sections(path) for code in section.code for words in called(code)]
    # What a sentence calls by its name alone is not typed like that.
    typed += [words if len(words) > 1 else [*words, "--help"] for words in spoken]

    wrong = {shlex.join(words): why for words in typed if (why := refused(words))}

    assert {} == wrong


def called(line: str) -> Iterator[list[str]]:
    """The words after `gpudiag` of every such command in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # a quote that nothing closes: output, not a command
        return
    for ends, command in groupby(words, key=lambda word: re.fullmatch(r"[|&;]+|\d?[<>]+", word) is not None):
        one = list(dropwhile(lambda word: word in ("$", "sudo") or "=" in word, [] if ends else command))
        if len(one) > 1 and Path(one[0]).name == "gpudiag":
            yield one[1:]


def refused(words: list[str]) -> str:
    """What the command's own option parser has against these words; empty when it takes them."""
    said = io.StringIO()
    try:
        command: Any = importlib.import_module(COMMANDS[words[0]]) if words[0] in COMMANDS else find(words[0])
    except GpudiagError as error:
        return str(error)
    parser = argparse.ArgumentParser(prog=words[0])
    command.arguments(parser)
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            parser.parse_args(words[1:])
        except SystemExit as ended:
            return said.getvalue() if ended.code else ""
    return ""


@pytest.mark.parametrize("picture", sorted(DOCS.rglob("*.png")), ids=name)
def test_every_picture_is_light_and_there_is_one_in_each_language(picture: Path) -> None:
    what = picture.name.split(".")[0]

    assert [] == [each for each in LANGUAGES if not picture.with_name(f"{what}.{each}.png").exists()]
    assert picture.stat().st_size < 150_000


# ------------------------------------------------------------------------------- the answer they show


@pytest.mark.parametrize(("readme", "language"), [("README.md", "en"), ("README.ko.md", "ko")])
def test_the_answer_at_the_top_is_the_one_that_the_demo_gives(readme: str, language: Language) -> None:
    command, _, shown = sections(ROOT / readme)[1].blocks[0].partition("\n")
    answer = timeless(said_of("node-3", language))
    pieces = [piece.strip("\n") for piece in re.split(r"(?m)^ *…$", timeless(shown))]

    assert "node=node-3" in command

    for piece in filter(None, pieces):
        assert piece in answer
        answer = answer.partition(piece)[2]


def said_of(node: str, language: Language) -> str:
    machine = next(machine for machine in fleet(0.0) if machine.name == node)
    window = Window(node)
    for snapshot in machine.history(0.0, 3600.0):
        window.add(snapshot)
    return diagnosis_text(msgspec.to_builtins(explain(examine(window), language)), language)


def timeless(text: str) -> str:
    """Without how old the data are."""
    return re.sub(r" · (data \S+ s old|\S+초 전 데이터)", "", text)
