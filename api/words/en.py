"""The API's refusals in English: what happened, where, and what to do."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # the query and the body of a question
    "option": "there is no option {name!r} here; there are: {known}",
    "option.twice": "{name} is given more than once; give it once",
    "lang": "lang={wanted!r} is not spoken here; there are: {known}",
    "number": "{name}={text!r} is no whole number between {low} and {high}",
    "span": "{name}={text!r} wants a span of time above 0, such as 10s, 5m, 2h or 7d",
    "span.day": "{name}={text!r} is longer than a day; ask for less, such as 6h",
    "moment": (
        "at={text!r} is no moment; write 2026-01-31T14:05:00Z, 14:05 (UTC), Unix seconds, or 10m (ago)"
    ),
    "moment.future": "at={text!r} is still to come; ask for a moment of the past",
    "cursor": "{name}={text!r} is no cursor; use the `next` of the answer before",
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
    "body.snapshot": "{place} unpacks to {mebibytes} MiB; of one node at most {most} MiB are taken",
    "body.objects": '{place} holds {count} objects ("{{"); at most {most} are taken',
    "body.values": '{place} holds {count} values (","); at most {most} are taken',
    "body.many": "{count} snapshots in one request; send at most {most}",
    "body.cut": "the body ends in the middle; send it whole",
    "crowded": "{most} requests are still being sent; come back in {seconds} s",
    # nodes, and who runs on them
    "node": "there is no node {name!r}{hint}",
    "node.or.process": "there is no node {name!r}, nor a pod, job or pid of that name{looked}{hint}",
    "near": "; did you mean {names}?",
    "fleet.option": (
        "the fleet is not asked with {name!r}; one node is: /diagnose?node=NODE, also with gpu, at and window"
    ),
    "nodes": "; these report: {names}",
    "nodes.more": "{names} and {more} more",
    "no.agent": "; no agent has reported yet, start one on the node: gpudiag agent --api URL",
    "not.looked": "; there was no time to look on {count} nodes, ask again",
    "process": (
        "no process of {name} is on a GPU of the {count} nodes that report{looked}; "
        "does it still run, and is that its whole name?"
    ),
    "several": (
        "{name!r} names several: {told}; ask for one of them by NODE:GPU, or by kind, "
        "such as job:ID, pid:N or NAMESPACE/POD"
    ),
    "pattern": "no node's name fits {name!r}, and '*' is every node{hint}",
    "gpu": "node {node} has no GPU {gpu}; it has: {known}",
    "gpu.none": "node {node} has no GPU {gpu}; it has none",
    "never.reported": "node {node} has not reported anything that is still kept",
    "not.kept": "nothing is kept of {node} at {at}{since}",
    "failed.node.note": (
        "gpudiag failed over what this node reports ({name}): this is a bug. What is stored is shown, with "
        "what was found before; nothing of it was judged now. The server's log has the details, to be sent "
        "with a report of the bug."
    ),
    "failed.node": "cannot tell: gpudiag failed over this node's reports (see the server's log)",
    "failed.paste": "cannot tell: gpudiag failed over this text (see the server's log)",
    "failed.paste.note": (
        "gpudiag failed over what this text shows ({name}): this is a bug. What was read is shown; nothing "
        "of it was judged. The server's log has the details, to be sent with the text and a report."
    ),
    "paste.unreadable": (
        "gpudiag failed over this text ({name}): this is a bug. The server's log has the details, to be sent "
        "with the text and a report of the bug; a shorter part of it may be read"
    ),
    "judge.not.yet": "cannot tell yet: its first report is on its way in",
    "oldest": "; the oldest snapshot kept is of {at}",
    # findings, rules, and what people decide
    "finding": "there is no finding {finding!r}; /v1/findings lists them",
    "finding.ended": "finding {finding} has ended at {at}; there is nothing to acknowledge",
    "finding.closed": "finding {finding} is open no more",
    "rule": "there is no rule {rule!r}{hint}",
    "rules": "; /v1/rules lists them",
    "runbooks": "; /runbooks lists them",
    "seconds": 'seconds is missing: how long it holds, such as 7200 or "2h"',
    "seconds.long": "{name}={text!r} is longer than 30 days; what never ends hides the next fault",
    "mutes": "{most} mutes hold already; end some (DELETE /v1/mutes/ID), or mute a pattern",
    "mute": "there is no mute {mute!r} that still holds; /v1/mutes lists them",
    # who may do what
    "token.unknown": "the token is not known here, or was revoked; see: gpudiag token list",
    "token.missing": (
        "this needs a token: send it as 'Authorization: Bearer …'. On the server, "
        "`gpudiag token create reader` (to ask) or `gpudiag token create agent NODE` (to report) makes one"
    ),
    "token.missing.behind": (
        "this server has an https:// public_url, so a proxy stands in front of it, and what comes from "
        "127.0.0.1 may be anybody's: send a token as 'Authorization: Bearer …'. On the server, "
        "`gpudiag token create reader` (to ask) or `gpudiag token create agent NODE` (to report) makes one"
    ),
    "token.form": "the Authorization header wants the form 'Bearer TOKEN'",
    "token.role": (
        "the token's role is {role}; this needs the role {needed}. Make a token of it: "
        "gpudiag token create {needed}"
    ),
    "token.node": (
        "this token reports as {bound}, not as {node}; make one for it: gpudiag token create agent {node}"
    ),
    "simulated.only": (
        "this server shows simulated nodes only and takes no reports from outside; "
        "start one that does with: gpudiag serve"
    ),
    "too.open": (
        "serve: {host} can be reached by others, and there are no tokens yet; "
        "make one first (gpudiag token create reader, with the same --store where one is given), "
        "or stay on 127.0.0.1"
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
    "no.page": "There is no page at `{path}`.",
    # the store
    "store.psycopg": (
        "store: PostgreSQL needs the psycopg package; install it: pip install 'gpudiag[postgresql]'"
    ),
    "store.folder": "store: the folder {folder} cannot be made ({reason}); choose another: --store",
    "store.lock": "store {where} cannot be written ({reason}); give its folder to this user, or --store",
    "store.held": (
        "store {where} is held by another gpudiag server; stop it, or give this one its own: --store"
    ),
    "store.newer": (
        "store: it was written by a newer gpudiag (tables {version}, this one knows {known}); "
        "update gpudiag, or give another store: --store"
    ),
    "store.readonly": "store {where} is read-only; give its file and folder to this user, or --store",
    "store.full": "store {where}: no space is left; free some, or keep less: --keep 1d",
    "store.damaged": "store {where} is damaged ({reason})",
    "store.replaced": (
        "store {where} was removed or replaced by another program while this server has it open; "
        "stop the server before you do that"
    ),
    "store.log.kept": (
        "store {where}: its log holds {mebibytes} MiB that cannot be moved into the file, and grows with "
        "every report, since a transaction on the file stays open; it has open beside this server: {who}; "
        "end that program or its transaction"
    ),
    "store.log.nobody": "nobody whom this user may see",
    "store.log.removed": (
        "store: another program removed the log {where} under the running server; all of it is in the file "
        "now, and a new log was begun. A crash meanwhile would have lost the latest reports"
    ),
    "few.files": (
        "this user may open {most} files at once, which is enough for some {nodes} nodes: further ones "
        "cannot connect. Allow more: LimitNOFILE= in the unit, --ulimit nofile= of Docker, ulimit -Hn"
    ),
    "clock.jumped": (
        "the clock of this machine jumped ahead by {span}, or the machine slept: nothing stored is deleted "
        "for that, and no node is called silent before it could report. See: timedatectl, chronyc tracking"
    ),
    "clock.stood.still": (
        "this server did nothing for {span} (stopped, or its machine or disk did not answer): no node is "
        "called silent before it could report again"
    ),
    "store.log.emptied": "store {where}: its log is moved into the file again",
    "store.network": (
        "store {where} lies on a network file system ({network}), where SQLite may lose or damage it; "
        "give it a local disk (--store), or use PostgreSQL"
    ),
    "store.busy": "store {where} is held by another process; is another gpudiag running on it?",
    "store.closed": "store {where} cannot be opened; may this user write there? See --store",
    "store.disk": "store {where}: the disk fails to read or write ({reason}); see dmesg",
    "store.standby": "store {where} is read-only; is it a standby? Give the primary: --store",
    "store.full.server": (
        "store {where}: the database server has no space left; free some, or keep less: --keep 1d"
    ),
    "store.silent": (
        "store {where} does not answer ({reason}); see whether the database server runs, and --store. Agents "
        "keep their reports meanwhile"
    ),
    "store.crowded": (
        "store {where}: all {most} connections to it are in use, since it answers slowly or too much is "
        "asked at once; try again in a few seconds"
    ),
    "store.other": "store {where}: {reason}",
    # too much at once, or not written
    "stopping": "the server is stopping; send it again in a few seconds",
    "stopping.act": "the server is stopping; try again in a few seconds",
    "waiting": "{most} reports are waiting already; come back in {seconds} s",
    "slow": "the store is slow just now; the report was not confirmed, send it again",
    "slow.act": "the store is slow just now; it was not confirmed, look again before you repeat it",
    "set.aside": "the store was damaged and has been set aside; send it again",
    "not.stored": "it could not be stored ({name}); see the log",
    # programs that begin, and commands
    "listen.nowhere": "there is no address {host!r} to listen on; try 127.0.0.1 or 0.0.0.0",
    "listen.taken": "port {port} on {host} is taken; give another: --port {other}, or GPUDIAG_PORT={other}",
    "listen.forbidden": "this user may not listen on port {port}; give one above 1023: --port 8000",
    "listen.other": "cannot listen on {host}:{port} ({reason})",
    "serve.ready": (
        "gpudiag serves at {url}\nask: curl {url}/diagnose; agents report with: gpudiag agent --api URL"
    ),
    "serve.damaged": "gpudiag: the store was damaged; it lies at {file}, a new one is used",
    "up.looks": "gpudiag serves at {url}, looks at {node}, and says what to ask in about {seconds} s",
    "up.ready": ("gpudiag watches {node}; pages and API at {url}\nask: curl '{url}/diagnose?node={node}'"),
    "up.nothing": "gpudiag serves at {url}, but nothing came of {node} yet",
    "demo.ready": (
        "A simulated fleet of eight nodes reports to {url}\n"
        "  pages      {url}/    {url}/nodes/{node}\n"
        "  simulator  {url}/simulator    chat  {url}/chat\n"
        "ask why, in another terminal:\n"
        "  curl '{url}/diagnose?node={node}'\n"
        "  {gpudiag} why node-7 --api {url}\n"
        "Ctrl-C ends it; nothing is kept."
    ),
    "adopt.weak": (
        "token: what is to be a token has at least {shortest} random letters and digits; "
        "make some: openssl rand -hex 32"
    ),
    "adopt.revoked": "token: this token is {id}, which was revoked; put a new one in its place",
    "adopt.taken": "token: this token is {id} already, {role}{of}; each purpose takes its own",
    "adopt.taken.node": " of {node}",
    "token.no.store": (
        "token: there is no store {file}, so no token; name the server's own with --store, "
        "or make the first one: gpudiag token create reader"
    ),
    "token.new.store": "the store {file} is new: a server finds the token there and nowhere else",
    "token.created": "id {id}, role {role}{bound}; {shown}",
    "token.bound": ", node {node}",
    "token.shown": "shown this once",
    "token.in.file": "the file holds it",
    "token.out": "it is in {file}, for its owner alone to read",
    "token.out.there": (
        "token: {file} is there already, and may hold a token that is in use; --out makes a new file"
    ),
    "token.out.dash": (
        "token: --out wants the name of a new file, not -; without --out the token is printed, once"
    ),
    "token.out.unwritable": (
        "token: {file} cannot be made ({reason}); --out wants a new file in a folder that is there"
    ),
    "token.reach": "whoever has this token can report as {which} ({now})",
    "token.every": "every node",
    "token.matching": "every node whose name matches {pattern}",
    "token.known": "{count} of the {all} known here",
    "token.none.known": "none is known yet",
    "token.unreadable": "token: {file} cannot be read ({reason}); --from wants a file that holds a token",
    "token.not.text": "it is not text",
    "token.of.no.node": "token: a {role}'s token is not bound to a node; leave {node!r} out",
    "token.of.which.node": (
        "token: an agent's token is bound to one node, or to a pattern of names: "
        "gpudiag token create agent NODE; 'gpu-*' for many, '*' for every one"
    ),
    "token.wide": (
        "token: the pattern {node!r} has no letter or digit of a name in it, so it could be any "
        "node's; write a part of the names, such as 'gpu-*', or '*' where every node is meant"
    ),
    "token.no.name": "token: {node!r} is no name of a node; letters, digits and . _ : @ + - make one",
    "token.none": "there are no tokens; make one: gpudiag token create reader",
    "token.valid": "valid",
    "token.revoked.at": "revoked {at}",
    "token.not.valid": "token: there is no valid token {id!r}; see: gpudiag token list",
    "token.revoked": "token {id} is revoked",
    # what an answer about a node ends with
    "note.asked": "You asked for {who}: it runs on {where}.",
    "note.two.agents": "Two agents report as {node}: two machines may be mixed. Give each its own --node.",
    "note.catches.up": "All of this is old: {node} is still sending what it kept while it was cut off.",
    "note.maintenance": "In maintenance until {until}, set by {by}: nobody is told of its findings.",
    "note.store": "New reports are not being stored: {trouble}",
}
