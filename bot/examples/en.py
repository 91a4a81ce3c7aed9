"""What rules say in the examples, in English."""
# ruff: noqa: E501  (one sentence, one line)

from __future__ import annotations

POOL_HEADLINE = "memory full, util 0%: reserved KV pool, normal"
MEANS = "The inference server took its KV-cache pool at start and nobody is sending requests. The memory is reserved, not busy."
DOES_NOT_MEAN = "It is not a leak, and the GPU is not stuck."
EVIDENCE = (
    "memory 75.2 of 79.6 GiB used, flat for 42 min",
    "utilization 0 %, power 68 W",
    "one process: python3 -m vllm.entrypoints",
    "weights 15.0 GiB + KV pool 57.9 GiB = 72.9 GiB, 97 % of what is used",
    "started with gpu_memory_utilization ≈ 0.94 (from the flat plateau)",
)
STEPS = (
    "Nothing, if no traffic is expected. Do not restart it to “free” memory.",
    "Expecting traffic? Look at the router and the engine's own counters:",
    "Need the memory for another job? Lower the ceiling and restart:",
)
ECC_HEADLINE = "Uncorrectable ECC errors"
ECC_STEP = "Drain the node, then reset GPU 5."
ECC_ON_5 = "Uncorrectable ECC errors on GPU 5"
LOW_UTIL = "util low under load: check batch/CPU preprocessing"
NO_REPORT = "No report from this host for 6 min"
WORKING = "Working normally"
SILENT = "agent silent"
ASKED = "You asked for pid 4121: it runs on node-3:0."
ASSUMPTIONS = ["bf16 KV cache", "no tensor parallelism", "no prefix sharing"]
