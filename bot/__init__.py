"""The chat application: a typed sentence becomes a question to the API, its answer becomes a message.

grammar (text → Request) · answers (Request + API → Answer) · blocks, markdown (Answer → a surface) ·
watching (changes → cards, one message each) · slack (the only importer of slack_bolt) ·
commands (`gpudiag bot`, `ask`).
Holds no rule texts and reaches the store only through the API.
To add a chat system: one file beside slack.py.
"""
