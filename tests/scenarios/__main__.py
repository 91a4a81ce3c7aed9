"""`python -m tests.scenarios [NAME …]`: plays all (or these) and prints expected against given."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.scenarios.play import play, play_by_name
from tests.scenarios.scenario import Outcome, Scenario, all_scenarios


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="scenarios, or the beginning of their names or groups"
    )
    parser.add_argument("-j", "--processes", type=int, default=2, help="how many play at the same time (2)")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also print what was found, and the answer"
    )
    options = parser.parse_args(arguments)
    chosen = [one for one in all_scenarios() if not options.names or _is_named(one, options.names)]
    if not chosen:
        print("scenarios: none has such a name", file=sys.stderr)
        return 2
    begun = time.monotonic()
    bad = sum(not _show(one, outcome, options.verbose) for one, outcome in _played(chosen, options.processes))
    print(f"\n{len(chosen)} scenarios, {bad} not as expected, {time.monotonic() - begun:.0f} s")
    return 1 if bad else 0


def _is_named(one: Scenario, names: list[str]) -> bool:
    full = f"{one.group}/{one.name}"
    return any(full.startswith(name) or one.name.startswith(name) for name in names)


def _played(chosen: list[Scenario], processes: int) -> Iterator[tuple[Scenario, Outcome]]:
    print(f"{'scenario':46} {'expected':42} {'given':42}")
    if processes < 2 or len(chosen) < 2:
        yield from ((one, play(one)) for one in chosen)
        return
    context = multiprocessing.get_context("spawn")  # a process holds one driver library
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from zip(chosen, pool.map(play_by_name, [one.name for one in chosen]), strict=True)


def _show(one: Scenario, outcome: Outcome, verbose: bool) -> bool:
    expected, given = f"{one.expects} {one.severity}", f"{outcome.rule} {outcome.severity}"
    print(f"{one.name:46} {expected:42} {given:42} {'' if outcome.good else 'MISMATCH'}")
    for complaint in outcome.complaints:
        print(f"    {complaint}")
    if verbose or not outcome.good:
        for line in outcome.findings:
            print(f"      found {line}")
    if verbose:
        for line in outcome.unjudged:
            print(f"      unjudged {line}")
        print(f"      {outcome.seconds:.1f} s\n{outcome.text}")
    return outcome.good


if __name__ == "__main__":
    sys.exit(main())
