"""What the calculator refuses, as one sentence a person can act on."""

from gpudiag.errors import GpudiagError


class KvError(GpudiagError):
    """The question cannot be answered as asked; the message says which part and what would do."""

    status = 422


class UnknownModel(KvError):
    """No catalogue entry and no config for this name."""

    status = 404


class UnknownLayer(KvError):
    """The config names a kind of layer whose memory we do not know; guessing would be worse."""
