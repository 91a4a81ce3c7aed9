"""The rules, one folder each, by family.

A rule's folder holds `__init__.py` (the predicate), `cases.py` (windows in which it must fire, stay clear,
or cannot judge), and `en.md` and `ko.md` (its words and runbook). The folder's name is its id. To add one:
add one folder; it is found, tested in every case and language, and documented by itself. A rule imports no
other rule; what a family shares stands in a file of the family, what several families share in one beside
this. Cases build their windows with `situations.py` (a node and its past) and `pastes.py` (pasted texts).
"""
