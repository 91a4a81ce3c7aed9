"""Sentences of the pages that belong to no rule; one file per language.

To add a language: one file with every key of en.py, and its line in `SENTENCES`.
"""

from __future__ import annotations

from api.web.words import en, ko
from gpudiag.words import Language

SENTENCES: dict[Language, dict[str, str]] = {"en": en.SENTENCES, "ko": ko.SENTENCES}
