"""One blueprint per resource of the API.

A view reads the question, asks `parts()`, and lays out the answer. To add an endpoint: a view here, marked
with the role it needs, and a row in api/endpoints.py.
"""

from api.resources.calculator import calculator
from api.resources.decisions import decisions
from api.resources.diagnose import diagnose
from api.resources.findings import findings
from api.resources.nodes import nodes
from api.resources.operations import operations
from api.resources.rules import rules
from api.resources.snapshots import snapshots

BLUEPRINTS = (snapshots, nodes, findings, decisions, diagnose, calculator, rules, operations)
