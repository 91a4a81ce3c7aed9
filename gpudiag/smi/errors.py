"""What a pasted text can be refused for."""

from __future__ import annotations

from gpudiag.errors import GpudiagError

LONGEST_BYTES = 4 << 20

COMMANDS = (
    "nvidia-smi",
    "nvidia-smi -q",
    "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used,memory.total --format=csv -l 1",
    "dmesg -T | grep -i -E 'nvrm|xid'",
)
"""What to run and paste, the most useful first."""


class NothingOfAGpu(GpudiagError):
    """The text holds nothing that a GPU tool prints."""

    status = 422

    def __init__(self) -> None:
        listed = ", ".join(f"`{command}`" for command in COMMANDS[:-1])
        super().__init__(
            "there is nothing of a GPU in this text that I can read. Paste the output of one of these "
            f"commands as it stands: {listed}, or `{COMMANDS[-1]}`"
        )


class TooLarge(GpudiagError):
    """The text is larger than is read."""

    status = 413

    def __init__(self) -> None:
        super().__init__(
            f"the pasted text is larger than the {LONGEST_BYTES >> 20} MiB that are read. "
            "Paste the last part, or only the lines that matter (`grep -i nvrm`)"
        )


class NotText(GpudiagError):
    """The bytes are no text."""

    status = 415

    def __init__(self) -> None:
        super().__init__(
            "this is not text but binary data. Paste the output of `nvidia-smi` itself; "
            "unpack a .gz or .zip first"
        )


class RefusedXml(GpudiagError):
    """The XML declares entities or an outside document; nothing of it was resolved."""

    status = 422

    def __init__(self) -> None:
        super().__init__(
            "this XML declares entities or a document type that nvidia-smi does not write; it was not read. "
            "Paste the output of `nvidia-smi -q -x` as it stands"
        )
