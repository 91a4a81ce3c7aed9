"""The API as tests/api starts it."""

from tests.api.conftest import api, make_api  # noqa: F401 (fixtures)
