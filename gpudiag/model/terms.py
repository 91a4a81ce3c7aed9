"""The words with which readings and findings are marked, and the record that all nouns are."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

SCHEMA = 1

LARGEST = 2.0**64  # what the driver's own counters hold
Number = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
"""What a machine may say; more is refused where it is read."""

Severity = Literal["ok", "info", "warning", "critical", "unknown"]
Confidence = Literal["proven", "likely", "possible"]
Kind = Literal["measured", "calculated", "inferred", "declared", "simulated"]
Maturity = Literal["stable", "experimental"]
Source = Literal["agent", "local", "pasted", "simulated"]
FindingState = Literal["open", "acknowledged", "resolved", "gone"]

# Worst last. A verdict takes the worst of its parts; unknown is worse than info and never shown as ok.
SEVERITY_ORDER: tuple[Severity, ...] = ("ok", "info", "unknown", "warning", "critical")
TROUBLE: tuple[Severity, ...] = ("warning", "critical")
"""Severities that ask for action."""
CONFIDENCE_ORDER: tuple[Confidence, ...] = ("possible", "likely", "proven")


class Struct(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """A plain record without cycles; absent fields are not written."""
