"""What the calculator refuses, as one sentence a person can act on; the word tables hold the sentences."""

from gpudiag.errors import GpudiagError
from gpudiag.kv.note import Note
from gpudiag.kv.words import sentence


class KvError(GpudiagError):
    """The question cannot be answered as asked; the sentence says which part and what would do.

    `key` names the sentence in the word tables, `values` go into it.
    """

    status = 422

    def __init__(self, key: str, /, **values: object) -> None:
        super().__init__(key)
        self.note = Note(key, values)

    def said(self, language: str) -> str:
        return sentence(self.note, language)

    def __str__(self) -> str:
        return self.said("en")


class UnknownModel(KvError):
    """No catalogue entry and no config for this name."""

    status = 404


class UnknownLayer(KvError):
    """The config names a kind of layer whose memory we do not know; guessing would be worse."""
