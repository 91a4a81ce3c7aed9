"""What chats, terminals and web pages do to text, undone: bytes → lines.

Only marks that carry no value are taken away (colours, quotes, fences, log prefixes, HTML); no digit is ever
joined to another, except across the hard wrap of a terminal whose width the table's own frame shows.
"""

# ruff: noqa: E501  (tables of facts)

from __future__ import annotations

import html
import quopri
import re

from gpudiag.model import MissingPart
from gpudiag.smi.bare_tables import with_bars
from gpudiag.smi.errors import LONGEST_BYTES, NotText, TooLarge
from gpudiag.smi.machines import Machines, machines_of
from gpudiag.smi.prefixes import without_continuation_marks, without_log_prefix, without_quotes
from gpudiag.smi.wrappings import out_of_json, without_escapes, without_panes

LONGEST_LINE = 20_000  # longer ones are no tool's output; they are cut, and say so

MOST_LINES = 16_000  # more are no sample of anything: the beginning and the end are read
MOST_LOG_LINES = 60_000
LOOKED_AT = 400  # lines that are searched for the header of a list

_ESCAPES = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[@-_]|\[\d{1,3}(?:;\d{1,3}){0,6}m"
)
_TAG = re.compile(
    r"</?(?:pre|code|span|div|p|br|b|i|u|em|strong|font|a|td|tr|table|tbody|th|li|ul|ol|blockquote|tt|kbd|samp|h\d|"
    r"body|html|section|article|details|summary)(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
_HTML = ("</", "<pre", "<PRE", "<br", "<BR", "<p>", "<div", "<code", "<span", "<td", "<tr")
_BREAKING = re.compile(r"^</?(?:p|br|div|tr|pre|li|h\d|table|blockquote|body)\b", re.IGNORECASE)
_ENTITY = re.compile(
    r"&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|lt|gt|amp|quot|apos|nbsp|ensp|emsp|thinsp|middot|bull|ldquo|rdquo);"
)
_FENCE = re.compile(
    r"(?:```|~~~)(?:[a-z]{1,12}(?=\s*(?:\n|$)))?|\{(?:code|noformat)(?::[^{}\n]{0,80})?\}|\[/?(?:code|pre|quote)\]",
    re.IGNORECASE,
)  # of Markdown, of Jira, of forums
_FENCES = ("```", "~~~", "{code", "{noformat", "[code]", "[/code]", "[pre]", "[CODE]", "[quote]")
_NAMED = r"[a-z][a-z_]{1,40}(?:\.[a-z_.]{1,60})?(?: \[[a-zA-Z%/]{1,16}\])?"
_TABBED_HEAD = re.compile(rf"^{_NAMED}(?:\t{_NAMED}){{1,200}}$", re.MULTILINE)
_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", None),
        **dict.fromkeys("\u2502\u2503\u2551\uff5c\u2506\u250a", "|"),
        **dict.fromkeys("\u2500\u2501\u254c\u2504\u2014\u2013", "-"),
        "\u2550": "=",
        **dict.fromkeys("\u250c\u2510\u2514\u2518\u251c\u2524\u252c\u2534\u253c\u2554\u2557\u255a\u255d\u2560\u2563\u2566\u2569\u256c"
                        "\u2552\u2555\u2558\u255b\u255e\u2561\u2564\u2567\u256a\u256d\u256e\u256f\u2570", "+"),
        **dict.fromkeys("\u2018\u2019", "'"),
        **dict.fromkeys("\u201c\u201d", '"'),
        "\uff1a": ":",
        "\u2026": "...",
        "\uff05": "%",
        "\u00b6": None,
    }
)  # fmt: skip
_NO_MAIL = re.compile(r"=(?!\n|[0-9A-F]{2})")  # mail writes "=" as a number, and breaks lines behind one
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")


def text_of(raw: str | bytes) -> str:
    """The text of a paste, at most 4 MiB of it. Raises TooLarge or NotText."""
    if isinstance(raw, str):
        if len(raw) > LONGEST_BYTES or len(raw.encode("utf-8", "replace")) > LONGEST_BYTES:
            raise TooLarge
        text = raw
    else:
        if len(raw) > LONGEST_BYTES:
            raise TooLarge
        text = _decoded(raw)
    odd = len(_CONTROL.findall(text[:65_536])) + text[:65_536].count("\ufffd")
    if odd > 16 and odd > len(text[:65_536]) / 50:
        raise NotText
    return text


def _decoded(raw: bytes) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):  # PowerShell's `>` writes UTF-16
        return raw.decode("utf-16", "replace")
    if raw[:2] == b"\x1f\x8b" or raw[:4] in (
        b"PK\x03\x04",
        b"\x28\xb5\x2f\xfd",
        b"\x89PNG",
        b"\x7fELF",
        b"%PDF",
    ):
        raise NotText
    half = raw[:4096]
    if half[1::2].count(0) > len(half) // 4 and not half[0::2].count(0):
        return raw.decode("utf-16-le", "replace")
    return raw.decode("utf-8-sig", "replace")


def cleaned(text: str) -> str:
    """One clean line a line: no colours, HTML, fences, tabs or look-alike characters."""
    text = text.replace("\r\n", "\n")
    if ("=\n" in text or "=20\n" in text) and not _NO_MAIL.search(text):
        text = quopri.decodestring(text.encode("utf-8", "replace")).decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r", "\n")
    if "\x1b" in text or "[0m" in text:
        text = _ESCAPES.sub("", text)
    text = without_panes(without_escapes(out_of_json(text)))
    if "<" in text and any(mark in text for mark in _HTML):
        text = _TAG.sub(lambda tag: "\n" if _BREAKING.match(tag[0]) else "", text)
    if "&" in text and _is_html(text):
        text = html.unescape(text)
    if not text.isascii():
        text = text.translate(_LOOKALIKES)
    if any(fence in text for fence in _FENCES):
        text = _FENCE.sub("\n", text)
    if "\t" in text:
        text = _out_of_a_spreadsheet(text)
        text = "\n".join(line.expandtabs(8) for line in text.split("\n"))
    return _CONTROL.sub("", text)


def _out_of_a_spreadsheet(text: str) -> str:
    """A list of `--query-…` that was copied out of a spreadsheet has tabs for its commas."""
    head = _TABBED_HEAD.search(text)
    if head is None:
        return text
    tabs = head[0].count("\t")
    return "\n".join(
        line.replace("\t", ", ") if line.count("\t") == tabs else line for line in text.split("\n")
    )


def _is_html(text: str) -> bool:
    """Entities are undone where they hide marks; in XML itself the parser does it."""
    return bool(_ENTITY.search(text)) and "<nvidia_smi_log" not in text


def log_lines(text: str) -> list[str]:
    """Lines that the kernel log reader looks at: of a very long text its beginning and its end.

    A line that fills the width of the text goes on in the next one, unless that begins like a line of a log.
    """
    lines = _ends(text.split("\n"), MOST_LOG_LINES)
    if "Xid" in text:  # a number that ends a line is whole where another line follows
        lines = [f"{line.rstrip()}," if _BARE_XID.search(line) else line for line in lines[:-1]] + lines[-1:]
    width = max(map(len, lines))
    if not 60 <= width <= 250:
        return lines
    joined: list[str] = []
    goes_on = False
    for line in lines:
        if goes_on and line and "NVRM" not in line and not _LOG_START.match(line):
            joined[-1] += line
        else:
            joined.append(line)
        goes_on = width - 1 <= len(line) and "NVRM" in joined[-1]
    return joined


_BARE_XID = re.compile(r"Xid \([^()]{4,40}\): ?\d{1,6}\s{0,8}$")
_LOG_START = re.compile(r"\s{0,8}(?:\[|<\d|NVRM|kernel|kern |nvidia|[A-Z][a-z]{2} [ \d]\d |\d{4}-)")


def lines_of(text: str) -> tuple[Machines, set[MissingPart]]:
    """Lines of cleaned text by machine, with quotes, log prefixes and hard wraps undone; and what is left out."""
    written = [line[:LONGEST_LINE] for line in text.split("\n")]
    if len(written) > MOST_LINES:
        written = [line for line in written if line and not line.isspace()]
    lines = _ends(written, MOST_LINES)
    left_out: set[MissingPart] = {"long"} if len(lines) < len(written) else set()
    lines = without_continuation_marks(without_quotes(lines))
    found = machines_of(lines)
    parts = {name: with_bars(_unwrapped(without_log_prefix(part))) for name, part in found.lines.items()}
    return Machines(parts, found.told), left_out


def _ends(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[: most // 10], *lines[len(lines) - (most - most // 10) :]]


def _unwrapped(lines: list[str]) -> list[str]:
    """Put lines together again that a terminal wrapped at its width, where the text itself shows the width."""
    return _unwrapped_list(_unwrapped_table(lines))


def _unwrapped_table(lines: list[str]) -> list[str]:
    """The frame of a table shows it: a line of dashes that fills the width and is closed by a `+` on a later
    line. Then every line of the table took the same number of lines."""
    if not any(line.lstrip().startswith("+--") and line.rstrip().endswith("-") for line in lines):
        return lines
    bare = _margin_removed([line.rstrip() for line in lines])
    written = [line for line in bare if line]
    if len(written) * 2 <= len(bare) + 1:  # a blank line behind every line
        bare = written
    frame = _wrapped_frame(bare)
    if frame is None:
        return lines
    width, pieces, total = frame
    joined: list[str] = []
    i = 0
    while i < len(bare):
        line = bare[i]
        group = bare[i : i + pieces]
        if line.lstrip()[:1] in ("+", "|") and len(group) == pieces and _may_join(group, width, total):
            joined.append("".join(piece.ljust(width) for piece in group[:-1]) + group[-1])
            i += pieces
        else:
            joined.append(line)
            i += 1
    return joined


def _margin_removed(lines: list[str]) -> list[str]:
    margin = min(
        (len(line) - len(line.lstrip()) for line in lines if line.lstrip()[:1] in ("+", "|")), default=0
    )
    if not margin or any(line[:margin].strip() for line in lines):
        return lines
    return [line[margin:] for line in lines]


_COLUMN_NAMES = re.compile(r"[a-z][a-z_.]{2,40}(?: \[[a-zA-Z%/]{1,16}\])?(?:, [a-z]|,$)")


def _unwrapped_list(lines: list[str]) -> list[str]:
    """A header of column names that goes on in the next line shows the width: lines that fill it go on."""
    for i, line in enumerate(lines[:LOOKED_AT]):
        width = len(line)
        if not 40 <= width <= 400 or i + 1 >= len(lines) or not _COLUMN_NAMES.match(line):
            continue
        after = lines[i + 1]
        if not after or len(after) > width or any(c.isdigit() for c in after) or not set(after) & set("[_.,"):
            continue
        joined, open_line = lines[:i], ""
        for piece in lines[i:]:
            open_line += piece
            if not width - 1 <= len(piece) <= width:
                joined.append(open_line)
                open_line = ""
            elif len(piece) < width:
                open_line += " "  # a blank at the end was lost
        return [*joined, open_line] if open_line else joined
    return lines


def _wrapped_frame(lines: list[str]) -> tuple[int, int, int] | None:
    """(width, pieces a line, length of a whole line) of a frame that was wrapped."""
    for i, line in enumerate(lines):
        width = len(line)
        if not 20 <= width < 120 or not line.lstrip().startswith("+--") or set(line.lstrip()) != {"+", "-"}:
            continue
        total, pieces = width, 1
        for more in lines[i + 1 : i + 6]:
            if (line[-1] == "+" and pieces == 1) or not more or set(more) - {"+", "-"} or len(more) > width:
                break
            total, pieces = total + len(more), pieces + 1
            if more.endswith("+"):
                return width, pieces, total
            if len(more) < width:
                break
    return None


def _may_join(group: list[str], width: int, total: int) -> bool:
    """All but the last piece fill the width (blanks at the end may be lost), and the last one closes."""
    if any(len(piece) > width for piece in group):
        return False
    last = group[-1].rstrip()
    return last.endswith(("|", "+")) and len(last) == total - width * (len(group) - 1)
