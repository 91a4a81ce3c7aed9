"""Reports on their way into the store: unpacked, checked, and written in turns, a commit for all that wait.

intake.py reads what came (tidying.py what no machine says), report.py is one request, turns.py the thread
that works off what is handed in, and writer.py what it does with it. It has nodes judged by api.judging.
"""
