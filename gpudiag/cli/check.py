"""`gpudiag check [NODE]`: one line and an exit code, for schedulers and monitors."""

from __future__ import annotations

import argparse

from gpudiag.cli import sources, terminal
from gpudiag.cli.failed import named
from gpudiag.words import words

SUMMARY = "one line, exit 0 ok or info, 1 warning, 2 critical, 3 unknown"
USAGE_EXIT_CODE = 3  # a mistyped option has found out nothing: unknown, not critical
EXIT_CODES = {"ok": 0, "info": 0, "warning": 1, "critical": 2, "unknown": 3}
WORDS = {"ok": "OK", "info": "OK", "warning": "WARNING", "critical": "CRITICAL", "unknown": "UNKNOWN"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "node", nargs="?", metavar="NODE[:GPU]", help="a node of the API; without, this machine"
    )
    parser.add_argument("--for", dest="seconds", metavar="6s", default="6s", help="how long to look (6s)")
    terminal.add_config_option(parser)
    terminal.add_api_options(parser)
    terminal.add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    try:
        language = terminal.chosen_language(options.lang)
        if sources.names_a_node(options):
            diagnosis = sources.from_api(options, language)
        else:
            diagnosis = sources.from_here(terminal.span("--for", options.seconds), options.config, language)
    except Exception as error:  # a monitor reads this line, whatever failed
        said = named(error).said(terminal.spoken(options.lang))
        if options.json:
            terminal.print_json({"severity": "unknown", "error": said})
        else:
            print(f"GPU UNKNOWN - {said}")
        return EXIT_CODES["unknown"]
    verdict = diagnosis["verdict"]
    if options.json:
        terminal.print_json({"node": diagnosis["node"], "source": diagnosis["source"], **verdict})
    else:
        word, node = WORDS[verdict["severity"]], diagnosis["node"]
        simulated = f" ({words(language).LABEL['simulated']})" if diagnosis["source"] == "simulated" else ""
        print(f"GPU {word} - {node}: {verdict['headline']} [{verdict['rule']}]{simulated}")
    return EXIT_CODES[verdict["severity"]]
