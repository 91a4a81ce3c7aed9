"""What holds for all tests: in CI a skipped test is a failed one; made-up input is the same at every run."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.load_profile("ci")  # and without a deadline; other examples: --hypothesis-profile=default


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    outcome = yield
    report = outcome.get_result()
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {reason}"
