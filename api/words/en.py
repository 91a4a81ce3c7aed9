"""The API's refusals in English: what happened, where, and what to do."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # the query and the body of a question
    "lang": "lang={wanted!r} is not spoken here; there are: {known}",
    "number": "{name}={text!r} is no whole number between {low} and {high}",
    "span": "{name}={text!r} wants a span of time above 0, such as 10s, 5m, 2h or 7d",
    "span.day": "{name}={text!r} is longer than a day; ask for less, such as 6h",
    "moment": (
        "at={text!r} is no moment; write 2026-01-31T14:05:00Z, 14:05 (UTC), Unix seconds, or 10m (ago)"
    ),
    "moment.future": "at={text!r} is still to come; ask for a moment of the past",
    "cursor": "after={text!r} is no cursor; use the `next` of the answer before",
    "format": "format={form!r} is not known; there are: json, text",
    "severity": "severity={severity!r} is not known; there are: {known}",
    "metric": "there is no history of {metric!r}; there is of: {known}",
    "sent-at": "{header} wants the sender's clock in Unix seconds",
    "body.object": "the body wants to be a JSON object",
    "body.text": "{name} wants a text",
    "body.long": "{name} is longer than {longest} characters",
    # a body as it comes over the wire
    "body.json": "the body is not valid JSON: {error}",
    "body.nested": "the body is nested too deeply",
    "body.utf8": "the body is not UTF-8 text",
    "body.encoding": "the body is encoded as {encoding}; send it as gzip, zstd or as it is",
    "body.gzip": "the body is not valid gzip ({error})",
    "body.gzip.end": "the gzip body ends in the middle; send it whole",
    "body.gzip.more": "something follows after the gzip body; send one gzip member",
    "body.zstd": "the body is not valid zstd ({error})",
    "body.bomb": "the body unpacks to more than {mebibytes} MiB; send fewer snapshots in one request",
    "body.many": "{count} snapshots in one request; send at most {most}",
    "body.cut": "the body ends in the middle; send it whole",
    "crowded": "{most} requests are still being sent; come back in {seconds} s",
    # nodes, and who runs on them
    "node": "there is no node {name!r}{hint}",
    "node.or.process": "there is no node {name!r}, nor a pod, job or pid of that name{looked}{hint}",
    "near": "; did you mean {names}?",
    "nodes": "; /v1/nodes lists those that report",
    "no.agent": "; no agent has reported yet, start one on the node: gpudiag agent --api URL",
    "not.looked": "; there was no time to look on {count} nodes, ask again",
    "process": (
        "no process of {name} is on a GPU of the {count} nodes that report{looked}; "
        "/diagnose lists the nodes, a node's page its processes"
    ),
    "several": (
        "{name!r} names several: {told}; ask for one of them by NODE:GPU, or by kind, "
        "such as job:ID, pid:N or NAMESPACE/POD"
    ),
    "pattern": "no node's name fits {name!r}; /v1/nodes lists them, '*' is every node",
    "gpu": "node {node} has no GPU {gpu}; it has: {known}",
    "gpu.none": "node {node} has no GPU {gpu}; it has none",
    "never.reported": "node {node} has not reported anything that is still kept",
    "not.kept": "nothing is kept of {node} at {at}{since}",
    "oldest": "; the oldest snapshot kept is of {at}",
    # findings, rules, and what people decide
    "finding": "there is no finding {finding!r}; /v1/findings lists them",
    "finding.ended": "finding {finding} has ended at {at}; there is nothing to acknowledge",
    "finding.closed": "finding {finding} is open no more",
    "rule": "there is no rule {rule!r}{hint}",
    "rules": "; /v1/rules lists them",
    "runbooks": "; /runbooks lists them",
    "seconds": 'seconds is missing: how long it holds, such as 7200 or "2h"',
    "seconds.long": "seconds is longer than 30 days; a mute that never ends hides the next fault",
    "mutes": "{most} mutes hold already; end some (DELETE /v1/mutes/ID), or mute a pattern",
    "mute": "there is no mute {mute!r} that still holds; /v1/mutes lists them",
    # who may do what
    "token.unknown": "the token is not known here, or was revoked; see: gpudiag token list",
    "token.missing": (
        "this needs a token: send it as 'Authorization: Bearer …'; one is made by: gpudiag token create"
    ),
    "token.form": "the Authorization header wants the form 'Bearer TOKEN'",
    "token.role": "the token's role is {role}; this needs the role {needed}",
    "token.node": (
        "this token reports as {bound}, not as {node}; make one for it: gpudiag token create agent {node}"
    ),
    "simulated.only": "this server shows simulated nodes only and takes no reports from outside",
    "too.open": (
        "serve: {host} can be reached by others, and there are no tokens yet; "
        "make one first (gpudiag token create reader), or stay on 127.0.0.1"
    ),
    "from.elsewhere": (
        "this form was sent by a page of another site, or a proxy in front does not pass the Host header on; "
        "open /login here and send it again"
    ),
    # what the framework refuses
    "http.404": "There is nothing at {path}. /openapi.json lists what is there.",
    "http.405": "{method} is not for {path}. /openapi.json lists what is.",
    "http.413": "The body is larger than this server takes (4 MiB).",
    "http.415": "The body is of a kind that {path} does not read.",
    "http.other": "{description}",
    "bug": "gpudiag failed here ({name}); this is a bug, the server's log has the details",
    "no.page": "There is no page at this address.",
    "home": "All nodes",
}
