"""What one pasted sample shows is told as of one sample, not as a share of time."""

from __future__ import annotations

import pytest

from gpudiag.examine import examine
from gpudiag.explain import Language, explain
from gpudiag.smi import window_of

ONE = (
    "index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"
    "0, 0 %, 22001 MiB, 24576 MiB\n"
)  # fmt: skip
SERIES = "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n" + "".join(
    f"2025/03/04 05:06:{second:02}.000, 0, 0 %, 22001 MiB, 24576 MiB\n" for second in range(0, 60, 5)
)


def evidence_of(text: str, language: Language) -> list[str]:
    answer = explain(examine(window_of(text, now=1.0)), language)
    return [
        item["text"] for gpu in answer.gpus for finding in gpu["findings"] for item in finding["evidence"]
    ]


@pytest.mark.parametrize(
    ("language", "said", "share"),
    [
        ("en", "nothing running in this sample: yes", "share of time"),
        ("ko", "이 샘플에서 아무것도 실행되지 않음: 예", "아무것도 실행되지 않은 시간"),
    ],
)
def test_a_share_of_time_is_told_of_a_series_alone(language: Language, said: str, share: str) -> None:
    one, series = evidence_of(ONE, language), evidence_of(SERIES, language)

    assert said in one and not any(share in text for text in one)
    assert said not in series and any(share in text for text in series)
