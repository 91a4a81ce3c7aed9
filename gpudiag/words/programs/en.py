"""What programs say of themselves, in English."""

from __future__ import annotations

REFUSED = {  # what cannot be read, and what to do
    "nothing-of-a-gpu": (
        "there is nothing of a GPU in this text that I can read. Paste the output of one of these commands "
        "as it stands: `nvidia-smi`, `nvidia-smi -q`, `nvidia-smi --query-gpu=timestamp,index,"
        "utilization.gpu,memory.used,memory.total --format=csv -l 1`, or "
        "`sudo dmesg -T | grep -i -E 'nvrm|xid'`. Of a program's own errors those about GPU memory are "
        "read, such as CUDA out of memory, and some lines of Kubernetes, Slurm and NCCL; paste all of it"
    ),
    "other-vendor": (
        "this looks like {tool}, and gpudiag reads NVIDIA GPUs only: it can say nothing of these devices"
    ),
    "other-tool": (
        "this looks like {tool}; these lines of it are not read. What the driver says of the same machine "
        "is: paste `nvidia-smi -q`, and `sudo dmesg -T | grep -i -E 'nvrm|xid'` where something failed"
    ),
    "nothing-came": (
        "nothing came on standard input. Errors do not pass a pipe by themselves; send them along: "
        "`nvidia-smi 2>&1 | gpudiag explain -`"
    ),
    "nothing-pasted": (
        "there is no text. Send what nvidia-smi says: `nvidia-smi | curl --data-binary @- ADDRESS/diagnose`"
    ),
    "too-large": (
        "the pasted text is larger than the {mebibytes} MiB that are read. Paste the last part, or only the "
        "lines that matter (`grep -i nvrm`)"
    ),
    "not-text": (
        "this is not text but binary data. Paste the output of `nvidia-smi` itself; "
        "unpack a .gz or .zip first"
    ),
    "refused-xml": (
        "this XML declares entities or a document type that nvidia-smi does not write; it was not read. "
        "Paste the output of `nvidia-smi -q -x` as it stands"
    ),
    "no-such-file": (
        "explain: cannot read {name}: {reason}. Name a file, or pipe the output: nvidia-smi | gpudiag explain"
    ),
    "config-unreadable": "config: cannot read {file} ({reason}); give the path of a config.json",
    "no-such-command": "there is no command {name!r}; `gpudiag help` lists them",
    "no-such-command-ask": "there is no command {name!r}; it is a question: gpudiag ask {name}",
    "no-such-command-near": "there is no command {name!r}; did you mean `gpudiag {near}`?",
    "no-such-rule": "there is no rule {name!r}; `gpudiag rules` lists them",
    "no-such-rule-near": "there is no rule {name!r}; near: {near}; `gpudiag rules` lists them",
    "no-such-language": "{place} wants en or ko; got {asked!r}",
    "no-such-time": "cannot read the time {text!r}; such as 15:43, 10m, or 2026-11-29T03:12Z",
    "no-such-span": "{option} wants a span of time above 0, such as 10s, 5m, 2h or 7d; got {text!r}",
    "empty-node": "the name of the node is empty; give one, or leave it out to look at this machine",
    "api-of-no-node": (
        "--api needs a NODE: the API is asked about it; without --api, this machine is looked at. "
        "The nodes: gpudiag ask --api {api}"
    ),
    "past-of-no-node": "--at needs a NODE: the past is what the API remembers",
    "rule-of-a-node": "--explain-rule looks at this machine: run it there, without NODE",
    "token-unreadable": (
        "token file {file} cannot be read: {reason}. On the server, "
        "`gpudiag token create reader` (to ask) or `gpudiag token create agent NODE` (to report) makes one"
    ),
    "token-not-text": (
        "token file {file} does not hold text. On the server, "
        "`gpudiag token create reader` (to ask) or `gpudiag token create agent NODE` (to report) makes one"
    ),
    "token-empty": (
        "token file {file} is empty. On the server, "
        "`gpudiag token create reader` (to ask) or `gpudiag token create agent NODE` (to report) makes one"
    ),
    "recording-unreadable": "replay: {file} cannot be read: {reason}",
    "recording-broken": (
        "replay: {file} line {number} is no snapshot: {reason}. It reads what `gpudiag record` wrote; "
        "for pasted output: gpudiag explain {file}"
    ),
    "recording-empty": "replay: the file holds no snapshot of that node, or none at all",
    "recording-unwritable": "record: {file} cannot be written: {reason}",
    "api-no-address": "{url!r} is no address of an API; it looks like http://127.0.0.1:8000",
    "api-no-port": "{url!r} has no valid port",
    "api-nobody": "nothing listens at {url}; start it with: gpudiag serve",
    "api-no-host": "there is no host {host!r} (address {url})",
    "api-silent": "the API at {url} did not answer within {seconds} s",
    "api-unreachable": "the API at {url} cannot be reached ({reason})",
    "api-cert-time": (
        "the certificate of {url} is not valid now ({reason}); renew it, "
        "or set the clock of this machine right"
    ),
    "api-cert-name": (
        "the certificate of {url} is for another name ({reason}); give the address that it is for, "
        "or have one made for this"
    ),
    "api-cert-unknown": (
        "the certificate of {url} is not trusted here ({reason}); if your own authority signed it, "
        "name that one's file: SSL_CERT_FILE=/path/to/ca.pem"
    ),
    "api-no-tls": "what answers at {url} does not speak TLS; is it http:// there?",
    "api-not-http": "what answers at {url} does not speak HTTP ({reason})",
    "api-endless": "the API at {url} answered more than {mebibytes} MiB",
    "api-not-json": "the API answered something that is not JSON; is the address right?",
    "api-other-form": (
        "the API answered in another form than this version reads ({reason}); "
        "is the address right, and are both of one version?"
    ),
    "api-sends-on": (
        "{url} sends on to {onward} ({told}), which is not followed; give the address that it leads to"
    ),
    "api-body-too-large": (
        "something in front of the API at {url} takes no body this large ({told}); raise its limit"
    ),
    "api-without-reason": "the API at {url}, or a proxy in front of it, answered {told} without a reason",
    "api-not-ours": (
        "what answers at {url} is not the gpudiag API, or a proxy in front of it refuses us ({told}); "
        "is the address right? It looks like http://SERVER:8000"
    ),
    "api-unnamed": (
        "{said} (so says what answers at {url}, {told}, without naming itself as the gpudiag API; "
        "is the address right?)"
    ),
    "settings-unreadable": "settings file {file} cannot be read: {reason}",
    "settings-not-text": "settings file {file} is not UTF-8 text",
    "settings-not-toml": "settings file {file} is not valid TOML: {reason}",
    "settings-no-table": "{place}: there is no table [{name}]; there are: {known}",
    "settings-table": "{place} wants a table, {example}",
    "settings-tables": "{place} wants tables, such as {example}",
    "settings-no-option": "{place} has no option {name!r}; it has: {known}",
    "threshold-no-rule": 'there is no rule "{rule}"; `gpudiag rules` lists them',
    "threshold-none": 'rules.{rule} has no threshold "{name}"; it has: {known}',
    "threshold-wants-number": "rules.{rule}.{name} wants a number, such as {example!r}; got {got!r}",
    "threshold-wants": "rules.{rule}.{name} wants a value such as {example!r}; got {got!r}",
    "settings-threshold": "{place}: {wrong}",
    "wants-span": "{place} wants a span of time above 0, such as 10s, 5m, 2h or 7d; got {got!r}",
    "wants-keeping": "{place} wants an hour or more, such as 12h, 7d or 4w; got {got!r}",
    "wants-interval": "{place} wants a time between 0.1s and 1h, such as 10s or 1m; got {got!r}",
    "wants-port": "{place} wants a port between 1 and 65535 (0 takes a free one); got {got!r}",
    "wants-count": "{place} wants a whole number of 0 or more; got {got!r}",
    "wants-address": "{place} wants an address such as http://127.0.0.1:8000; got {got!r}",
    "wants-store": "{place} wants sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE; got {got!r}",
    "wants-language": "{place} wants en or ko; got {got!r}",
    "wants-text": "{place} wants a text; got {got!r}",
    "wants-gpus": "{place} wants a number of GPUs; got {got!r}",
    "wants-texts": "{place} wants a list of texts; got {got!r}",
    "no-agent": "no agent answers on this host (looked in {folder}). Start it with: gpudiag agent",
    "no-agent-of-ours": (
        "what answers on this host is no agent of this version; end it, and start: gpudiag agent"
    ),
    "agent-not-allowed": "only root and the agent's own user may do this; try it with sudo",
    "agent-failed": "the agent on this host could not answer: {reason}",
    "another-agent": (
        "another agent runs here already (it answers at {path}). Both report; end one of them, "
        "its pid is told by: gpudiag agent status"
    ),
    "no-door": "the socket {path} cannot be opened ({reason}); commands on this host do not reach the agent",
    "system-refused": "{where}: {reason}. Look at its permissions, and at the space that is left there",
    "bug": (
        "gpudiag failed here ({error}; {place}): this is a bug. Send this line with a report of it, and what "
        "was asked; PYTHONDEVMODE=1 shows more"
    ),
    "spool-unusable": ("snapshots cannot be kept in {folder}: {reason}. Free space there, or set --spool"),
    "spool-no-room": (
        "no space is left in {folder}: the oldest of the snapshots that wait there are dropped and counted "
        "as lost. Free space there, or set --spool"
    ),
}
DONE = {  # what a command says that did what it was told
    "agent-status": (
        "The agent (pid {pid}) reports as {node}; its GPUs are {held}.\n"
        "Snapshots taken: {snapshots}, waiting to be sent: {waiting}, lost: {lost}."
    ),
    "agent-trouble": "Why they wait: {trouble}",
    "agent-holds": {
        "released": "released",
        "watched": "watched",
        "unreachable": "not reachable, or it has none (gpudiag why)",
    },
    "agent-resumed": "The agent watches the GPUs again.",
    "agent-released": (
        "The agent has let go of the GPUs for {seconds} s; it comes back by itself,\n"
        "or at once with: gpudiag agent resume\n"
        "A reset also wants other monitors to let go, such as DCGM and its exporter."
    ),
    "agent-hangs": (
        "The agent was told, but a call into the driver still hangs in it.\n"
        "A reset will be refused until it returns; stopping the agent may help."
    ),
    "recorded": "{count} snapshots in {file}. See its diagnosis: gpudiag replay {file}",
    "recorded-one": "{count} snapshot in {file}. See its diagnosis: gpudiag replay {file}",
    "replayed": "Snapshots sent to {api}: {count}.",
}
DOING = {  # while one waits
    "watching": "watching",
    "looking": "looking at this machine",
    "paste": "Paste the output, then press Ctrl-D on a line of its own.",
}
AGENT = {  # what the agent says while it runs
    "reports": "reports {node} to {api} every {seconds} s",
    "no-gpu": "no NVIDIA GPU is on this host's bus: the reports say so. If there should be one: gpudiag why",
    "no-gpu-seen": "no GPU is seen: {reason}. What to do: gpudiag why",
    "gpus-now": "GPUs are seen now: {count}",
    "no-snapshot": "no snapshot this time: {error}",
    "driver-replaced": "the driver was replaced: starting again with its new library",
    "refused": "the API refused a snapshot, which is dropped: {error}",
    "wrong-token": "{error}. Is the token right for this node? gpudiag token create agent NODE",
    "wrong-address": "{error} Is the address of the API right? It looks like http://SERVER:8000",
    "failed": "sending failed: {error}",
    "again": "reporting again, {count} snapshots wait",
    "set-aside": (
        "one snapshot gets no further than something in front of the API, and others do: {error}. It is set "
        "aside in {file}; when the way is free: gpudiag replay FILE --api URL --token-file FILE"
    ),
}
SYSTEM = {  # what the operating system says, by the name of its error number
    "EACCES": "Permission denied",
    "EADDRINUSE": "Address already in use",
    "EADDRNOTAVAIL": "Cannot assign requested address",
    "ECONNRESET": "Connection reset by peer",
    "EEXIST": "File exists",
    "EHOSTUNREACH": "No route to host",
    "EIO": "Input/output error",
    "EISDIR": "Is a directory",
    "EMFILE": "Too many open files",
    "ENETUNREACH": "Network is unreachable",
    "ENOENT": "No such file or directory",
    "ENOSPC": "No space left on device",
    "ENOTDIR": "Not a directory",
    "EPERM": "Operation not permitted",
    "EPIPE": "Broken pipe",
    "EROFS": "Read-only file system",
}
