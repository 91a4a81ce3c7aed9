"""What is known of every node, and how it is judged: as its snapshots arrive, by the clock, and in the past.

judge.py is the way of one snapshot: into the node's window (windows.py), judged now or later (signs.py), and
what changed into the feed (feed.py); wording.py puts it into words, facts.py tells what is left where our
rules fail. rounds.py is what the clock looks for, together.py the rules about several nodes, shared.py the
same beside other servers, past.py and since.py what was. Knows no HTTP.
"""
