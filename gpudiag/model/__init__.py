"""The nouns: what an agent sees on one node at one moment, and what the rules make of it.

One schema for the agent, the server, recorded files and pasted text. Every metric may be absent: `None`
means *not known*, never zero. Units are in the names. Unknown fields from a newer agent are ignored.

gpu.py and snapshot.py are what is seen, paste.py what a pasted text says besides, checkup.py what the rules
make of it, terms.py the words that mark them. Imports nothing of ours.
"""

from gpudiag.model.checkup import Checkup, Evidence, Finding, LedgerPart, MemoryLedger, Observed, Unjudged
from gpudiag.model.gpu import CLOCKS_EVENT, GpuReading, MigDevice, NvLink, Samples
from gpudiag.model.paste import (
    CacheShortage,
    FailedTest,
    MemoryHolder,
    MissingPart,
    OutOfMemory,
    PasteReading,
)
from gpudiag.model.snapshot import (
    AgentReading,
    EngineReading,
    Gap,
    GpuUse,
    HostReading,
    KernelEvent,
    NetworkPort,
    NvmlReading,
    ProcessReading,
    Reason,
    Snapshot,
    ThreadReading,
)
from gpudiag.model.terms import (
    CONFIDENCE_ORDER,
    LARGEST,
    SCHEMA,
    SEVERITY_ORDER,
    TROUBLE,
    Confidence,
    FindingState,
    Kind,
    Maturity,
    Number,
    Severity,
    Source,
    Struct,
)

__all__ = [
    "CLOCKS_EVENT",
    "CONFIDENCE_ORDER",
    "LARGEST",
    "SCHEMA",
    "SEVERITY_ORDER",
    "TROUBLE",
    "AgentReading",
    "CacheShortage",
    "Checkup",
    "Confidence",
    "EngineReading",
    "Evidence",
    "FailedTest",
    "Finding",
    "FindingState",
    "Gap",
    "GpuReading",
    "GpuUse",
    "HostReading",
    "KernelEvent",
    "Kind",
    "LedgerPart",
    "Maturity",
    "MemoryHolder",
    "MemoryLedger",
    "MigDevice",
    "MissingPart",
    "NetworkPort",
    "Number",
    "NvLink",
    "NvmlReading",
    "Observed",
    "OutOfMemory",
    "PasteReading",
    "ProcessReading",
    "Reason",
    "Samples",
    "Severity",
    "Snapshot",
    "Source",
    "Struct",
    "ThreadReading",
    "Unjudged",
]
