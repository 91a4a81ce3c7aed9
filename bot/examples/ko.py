"""What rules say in the examples, in Korean."""
# ruff: noqa: E501  (one sentence, one line)

from __future__ import annotations

POOL_HEADLINE = "메모리 가득, util 0%: 예약된 KV 풀, 정상"
MEANS = "추론 서버가 시작할 때 KV 캐시 풀을 예약했고 지금은 요청이 없습니다. 메모리는 예약된 것이지 바쁜 것이 아닙니다."
DOES_NOT_MEAN = "누수가 아니며 GPU가 멈춘 것도 아닙니다."
EVIDENCE = (
    "메모리 79.6 GiB 중 75.2 GiB 사용, 42분 동안 변화 없음",
    "사용률 0 %, 전력 68 W",
    "프로세스 하나: python3 -m vllm.entrypoints",
    "가중치 15.0 GiB + KV 풀 57.9 GiB = 72.9 GiB, 사용량의 97 %",
    "gpu_memory_utilization ≈ 0.94 값으로 시작 (평평한 사용량에서 추정)",
)
STEPS = (
    "트래픽이 없을 때라면 할 일이 없습니다. 메모리를 “비우려고” 다시 시작하지 마십시오.",
    "트래픽이 있어야 한다면 라우터와 엔진의 카운터를 확인하십시오:",
    "다른 작업에 메모리가 필요하면 비율을 낮춰 다시 시작하십시오:",
)
ECC_HEADLINE = "정정 불가 ECC 오류"
ECC_STEP = "노드를 드레인한 뒤 GPU 5번을 리셋하십시오."
ECC_ON_5 = "GPU 5번에 정정 불가 ECC 오류"
LOW_UTIL = "부하 중 util 낮음: 배치와 CPU 전처리 확인"
NO_REPORT = "이 호스트의 보고가 6분 동안 없음"
WORKING = "정상 동작 중"
SILENT = "에이전트 응답 없음"
ASKED = "물어보신 대상(pid 4121)이 실행되는 곳: node-3:0."
ASSUMPTIONS = ["bf16 KV 캐시", "텐서 병렬 없음", "접두사 공유 없음"]
