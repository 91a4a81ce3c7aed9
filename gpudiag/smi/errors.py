"""What a pasted text can be refused for."""

from __future__ import annotations

from gpudiag.words.refusals import Refusal

LONGEST_BYTES = 4 << 20


class NothingOfAGpu(Refusal):
    """The text holds nothing that a GPU tool prints."""

    status = 422
    key = "nothing-of-a-gpu"


class OtherTool(NothingOfAGpu):
    """The text is another tool's output, which is not read."""

    def __init__(self, tool: str, key: str) -> None:
        super().__init__(key, tool=tool)


class NothingPasted(Refusal):
    """There is no text at all."""

    key = "nothing-pasted"


class TooLarge(Refusal):
    """The text is larger than is read."""

    status = 413
    key = "too-large"

    def __init__(self) -> None:
        super().__init__(mebibytes=LONGEST_BYTES >> 20)


class NotText(Refusal):
    """The bytes are no text."""

    status = 415
    key = "not-text"


class RefusedXml(Refusal):
    """The XML declares entities or an outside document; nothing of it was resolved."""

    status = 422
    key = "refused-xml"
