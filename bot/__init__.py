"""The chat application: a typed sentence becomes a question to the API, its answer becomes a message.

grammar (text → Request) · answers (Request + API → Answer) · blocks, markdown (Answer → a surface) ·
watching (changes → cards, one message each) · desk (who asks, in which language) · questions, api (what is
asked of the API) · delivery (what is sent to Slack) · state (what outlives a restart) · guard, access (who
gets in, who may change) · slack (the only importer of slack_bolt) · program (all of it together) ·
commands (`gpudiag bot`, `ask`).
Holds no rule texts and reaches the store only through the API.
To add a chat system: one file beside slack.py.
"""
