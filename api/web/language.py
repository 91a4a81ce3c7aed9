"""Which language a reader gets: what the link says, else what they chose before, else their browser's."""

from __future__ import annotations

from flask import Response, g, request

from gpudiag.words import LANGUAGES, Language, language_of

COOKIE = "gpudiag_lang"
A_YEAR = 365 * 86_400


def chosen() -> Language:
    """The language of the request at hand."""
    if "language" not in g:
        wanted = request.args.get("lang") or request.cookies.get(COOKIE)
        g.language = language_of(wanted or request.headers.get("Accept-Language"))
    language: Language = g.language
    return language


def remember(response: Response) -> Response:
    """Keep a language that a link chose."""
    if request.args.get("lang") in LANGUAGES:
        secure = request.is_secure
        response.set_cookie(
            COOKIE, chosen(), max_age=A_YEAR, samesite="Lax", secure=secure, httponly=True, path="/"
        )
    return response
