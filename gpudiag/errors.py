"""The one error that people see as a sentence."""


class GpudiagError(Exception):
    """What went wrong, where, and what to do, in one sentence that a person can act on.

    Programs print it and exit with `exit_code`; the API answers it as a problem with `status`.
    Raise a subclass where a caller would handle the case differently.
    """

    status = 400
    exit_code = 2

    def said(self, language: str) -> str:
        """The sentence in a language; in English where it has no words in that one."""
        return str(self)
