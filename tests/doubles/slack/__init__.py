"""Slack's side, on loopback: a real HTTP and WebSocket server that behaves and judges as Slack does.

`judge` knows what Slack accepts (from Slack's published types), `server` keeps state and answers the Web API
and response_urls, `websocket` is Socket Mode, `people` are the persons who type and press. Nothing of
slack-bolt or slack-sdk is patched: they are pointed here by an address.
"""
