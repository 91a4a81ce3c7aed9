"""`gpudiag replay`: the diagnosis of recorded snapshots, or their way to an API."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gpudiag.words.refusals import Refusal

if TYPE_CHECKING:
    from gpudiag.model import Snapshot
    from gpudiag.window import Window

SUMMARY = "the diagnosis of what `gpudiag record` wrote; or send it to an API"


class NotARecording(Refusal):
    """The file holds something else than snapshots."""


def arguments(parser: ArgumentParser) -> None:
    from gpudiag.cli.terminal import add_output_options

    parser.add_argument("file", metavar="FILE", help="JSON lines of snapshots; - is standard input")
    parser.add_argument("--node", metavar="NAME", help="only this node of the file")
    parser.add_argument("--api", metavar="URL", help="send the snapshots there instead of judging them here")
    parser.add_argument("--token-file", metavar="FILE", help="file with a token for --api")
    add_output_options(parser)


def run(options: Namespace) -> int:
    snapshots = (s for s in read(options.file) if options.node in (None, s.node))
    if options.api:
        return _send(snapshots, options)
    return _judge(list(windows_of(snapshots).values()), options)


def read(file: str) -> Iterator[Snapshot]:
    """The snapshots of a file, in its order; raises NotARecording with the line that is none."""
    import msgspec

    from gpudiag.model import Snapshot

    decode = msgspec.json.Decoder(Snapshot).decode
    try:
        with sys.stdin.buffer if file == "-" else open(file, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    try:
                        yield decode(line)
                    except msgspec.MsgspecError as error:
                        raise NotARecording(
                            "recording-broken", file=file, number=number, reason=error
                        ) from None
    except OSError as error:
        raise NotARecording("recording-unreadable", file=file, reason=error) from None


def windows_of(snapshots: Iterable[Snapshot]) -> dict[str, Window]:
    """A window per node, as the server would have built it."""
    from gpudiag.window import Window

    windows: dict[str, Window] = {}
    for snapshot in snapshots:
        windows.setdefault(snapshot.node, Window(snapshot.node)).add(snapshot)
    if not windows:
        raise NotARecording("recording-empty")
    return windows


def _judge(windows: list[Window], options: Namespace) -> int:
    import msgspec

    from gpudiag.cli.sources import RUNBOOKS
    from gpudiag.cli.terminal import chosen_language, colour, columns, print_json
    from gpudiag.examine import examine
    from gpudiag.explain import explain
    from gpudiag.plaintext import diagnosis_text

    language = chosen_language(options.lang)
    answers = [
        msgspec.to_builtins(explain(examine(window), language, runbooks=RUNBOOKS)) for window in windows
    ]
    if options.json:
        print_json(answers[0] if len(answers) == 1 else answers)
        return 0
    texts = [diagnosis_text(answer, language, width=columns(), colour=colour()) for answer in answers]
    sys.stdout.write("\n".join(texts))
    return 0


def _send(snapshots: Iterable[Snapshot], options: Namespace) -> int:
    from gpudiag.cli.terminal import chosen_language, token_in
    from gpudiag.client import Client
    from gpudiag.words.programs import words

    language, count = chosen_language(options.lang), 0
    with Client(options.api, token_in(options.token_file), language=language) as client:
        for snapshot in snapshots:
            client.send(snapshot)
            count += 1
    print(words(language).DONE["replayed"].format(count=count, api=options.api))
    return 0
