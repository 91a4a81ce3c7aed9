"""Takes secrets out of command lines before anything leaves the host.

Better one word masked too many than one secret sent: a value is hidden when its option's name says secret,
when it looks like a well-known kind of key, or when it stands inside a URL as a password. The option names
of inference engines that merely sound alike (`--max-num-batched-tokens`, `--tokenizer`) stay readable.
"""

from __future__ import annotations

import re

MASK = "***"
LONGEST = 512
LOOKED_AT = 8_000  # characters of a command line: what is made to be long must not cost more
LONGEST_ARGUMENT = 2_000

_SECRET_WORDS = frozenset(
    {
        "token", "secret", "secrets", "password", "passwd", "passphrase", "passwort", "pwd", "pw", "pass",
        "credential", "credentials", "apikey", "authorization", "bearer", "cookie", "jwt", "sas", "dsn",
    }
)  # fmt: skip
_SECRET_ENDINGS = ("password", "passwd", "passphrase", "secret", "apikey", "token", "credentials")
_KEY_OWNERS = frozenset(
    {
        "api",
        "access",
        "secret",
        "private",
        "auth",
        "encryption",
        "master",
        "account",
        "license",
        "wandb",
        "ssh",
    }
)
_HARMLESS = frozenset(
    {"bos", "eos", "pad", "unk", "cls", "sep", "mask", "stop", "image", "special", "per", "id", "ids", "file"}
)
_NAME = r"[A-Za-z][A-Za-z0-9_.\-]*"
_ASSIGNMENT = re.compile(rf"^(-{{0,2}}{_NAME})([=:])(.+)$", re.DOTALL)
_OPTION = re.compile(rf"^-{{1,2}}({_NAME})$")
_HEADER = re.compile(
    r"^(.*?\b(?:authorization|x-[\w-]*(?:key|token)|cookie)\b\s*:\s*)(.+)$", re.I | re.DOTALL
)
_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.\-]*://)([^/\s:@]*):([^/\s@]+)@", re.IGNORECASE)
_URL_QUERY = re.compile(
    r"([?&;](?:[\w\-]*(?:token|key|secret|password|passwd|sig|signature|auth)[\w\-]*)=)[^&;\s]+",
    re.IGNORECASE,
)
_KNOWN_KEYS = re.compile(
    r"\b(?:"
    r"hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_\-]{8,}|nvapi-[A-Za-z0-9_\-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|"
    r"github_pat_\w{16,}|glpat-[\w\-]{12,}|xox[abeoprs]-[A-Za-z0-9\-]{8,}|xapp-[A-Za-z0-9\-]{8,}|"
    r"A(?:KIA|SIA)[A-Z0-9]{12,}|AIza[\w\-]{20,}|ya29\.[\w\-.]{10,}|"
    r"eyJ[\w\-]{8,}\.[\w\-]{4,}(?:\.[\w\-]*)?"
    r")"
)
_BEARER = re.compile(r"\b((?:bearer|basic|token)\s+)[A-Za-z0-9+/=_\-.]{8,}", re.IGNORECASE)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL
)
_LAST_PIECE = re.compile(r"(?<![^\s,;&?])[^\s,;&?]*$")

# Programs whose short options take a password: the option, and whether the value is glued to it.
_SHORT_OPTIONS = {
    "mysql": ("-p", True), "mysqldump": ("-p", True), "mariadb": ("-p", True), "sshpass": ("-p", True),
    "redis-cli": ("-a", False), "curl": ("-u", False), "wget": ("--password", False),
}  # fmt: skip


def masked(arguments: list[str]) -> str:
    """The command line as one printable line, without its secrets, of at most `LONGEST` characters."""
    words: list[str] = []
    hide_next = False
    short = _SHORT_OPTIONS.get(arguments[0].rpartition("/")[2]) if arguments else None
    left = LOOKED_AT
    for whole in arguments:
        if left <= 0:
            words.append("…")
            break
        argument = _cut(whole)
        left -= len(argument)
        if hide_next and not _OPTION.match(argument):
            words.append(MASK)
            hide_next = False
            continue
        word, hide_next = _masked_word(argument)
        if short is not None and argument.startswith(short[0]):
            word, hide_next = _masked_short(argument, short)
        words.append(word)
    line = printable(" ".join(words))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _cut(argument: str) -> str:
    """The beginning of a long argument, without its last piece, which may be half of a secret."""
    if len(argument) <= LONGEST_ARGUMENT:
        return argument
    return _LAST_PIECE.sub("", argument[:LONGEST_ARGUMENT]) + "…"


def printable(text: str) -> str:
    """The text on one line, with everything replaced that a terminal would obey."""
    spaced = " ".join(text.split())
    return spaced if spaced.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in spaced)


def _masked_word(argument: str) -> tuple[str, bool]:
    """The argument without secrets, and whether the next argument is one."""
    option = _OPTION.match(argument)
    if option is not None:
        return argument, _names_a_secret(option[1])
    assignment = _ASSIGNMENT.match(argument)
    if assignment is not None and "://" not in assignment[1] and _names_a_secret(assignment[1].lstrip("-")):
        return f"{assignment[1]}{assignment[2]}{MASK}", False
    header = _HEADER.match(argument)
    if header is not None:
        return f"{header[1]}{MASK}", False
    return _without_known_keys(argument), False


def _masked_short(argument: str, short: tuple[str, bool]) -> tuple[str, bool]:
    option, glued = short
    if argument == option:
        return argument, not glued or option == "-p"
    return f"{option}{MASK}", False


def _names_a_secret(name: str) -> bool:
    parts = re.sub(r"([a-z])([A-Z])", r"\1-\2", name).lower()
    words = [word for word in re.split(r"[-_.]", parts) if word]
    if not words or _HARMLESS & set(words):
        return False
    if _SECRET_WORDS & set(words) or any(word.endswith(_SECRET_ENDINGS) for word in words):
        return True
    return words[-1] == "key" and (len(words) == 1 or bool(_KEY_OWNERS & set(words)))


def _without_known_keys(text: str) -> str:
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _URL_PASSWORD.sub(rf"\1\2:{MASK}@", text)
    text = _URL_QUERY.sub(rf"\1{MASK}", text)
    text = _BEARER.sub(rf"\1{MASK}", text)
    return _KNOWN_KEYS.sub(MASK, text)
