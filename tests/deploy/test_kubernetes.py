"""The Kubernetes manifests: fields that there are, parts that fit together, and tokens that open the door."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from api.app import default_store
from gpudiag.cli import main
from gpudiag.cli.completion import whole_parser
from gpudiag.client import Client, Forbidden, Unauthorized
from gpudiag.settings import load
from tests.api.conftest import Api, ReportingNode

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
FILES = ("server.yaml", "agent.yaml", "monitoring.yaml")
BOT = "bot.yaml"  # looked at by itself: it has a Deployment and a volume, too

# Of each object the fields that our manifests may use, as Kubernetes' API reference names and types
# them: a text, a number, a yes or no, a list of one kind, or another object.
RESOURCES = {"requests": {str: str}, "limits": {str: str}}
SELECTOR = {"matchLabels": {str: str}}
META = {"name": str, "namespace": str, "labels": {str: str}}
PROBE = {
    "httpGet": {"path": str, "port": (str, int)},
    "periodSeconds": int,
    "timeoutSeconds": int,
    "failureThreshold": int,
}
CONTAINER = {
    "name": str,
    "image": str,
    "args": [str],
    "env": [{"name": str, "value": str, "valueFrom": {"fieldRef": {"fieldPath": str}}}],
    "envFrom": [{"secretRef": {"name": str}}],
    "ports": [{"name": str, "containerPort": int}],
    "securityContext": {
        "runAsUser": int,
        "allowPrivilegeEscalation": bool,
        "readOnlyRootFilesystem": bool,
        "seccompProfile": {"type": str},
        "capabilities": {"drop": [str], "add": [str]},
    },
    "resources": RESOURCES,
    "startupProbe": PROBE,
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
VOLUME = {
    "name": str,
    "hostPath": {"path": str, "type": str},
    "emptyDir": {"sizeLimit": str},
    "secret": {"secretName": str, "defaultMode": int},
    "persistentVolumeClaim": {"claimName": str},
}
POD = {
    "metadata": META,
    "spec": {
        "hostPID": bool,
        "runtimeClassName": str,
        "priorityClassName": str,
        "automountServiceAccountToken": bool,
        "enableServiceLinks": bool,
        "nodeSelector": {str: str},
        "tolerations": [{"key": str, "operator": str, "effect": str}],
        "securityContext": {
            "runAsNonRoot": bool,
            "runAsUser": int,
            "runAsGroup": int,
            "fsGroup": int,
            "fsGroupChangePolicy": str,
            "seccompProfile": {"type": str},
        },
        "initContainers": [CONTAINER],
        "containers": [CONTAINER],
        "volumes": [VOLUME],
    },
}
KINDS = {
    "Service": {"selector": {str: str}, "ports": [{"name": str, "port": int, "targetPort": (str, int)}]},
    "PersistentVolumeClaim": {"accessModes": [str], "resources": RESOURCES},
    "Deployment": {"replicas": int, "strategy": {"type": str}, "selector": SELECTOR, "template": POD},
    "DaemonSet": {
        "selector": SELECTOR,
        "updateStrategy": {"rollingUpdate": {"maxUnavailable": (str, int)}},
        "template": POD,
    },
    "PodDisruptionBudget": {
        "maxUnavailable": (str, int),
        "unhealthyPodEvictionPolicy": str,
        "selector": SELECTOR,
    },
    "NetworkPolicy": {
        "podSelector": SELECTOR,
        "policyTypes": [str],
        "ingress": [
            {
                "from": [{"podSelector": SELECTOR, "namespaceSelector": SELECTOR}],
                "ports": [{"port": (str, int)}],
            }
        ],
    },
    "ServiceMonitor": {  # of the Prometheus Operator
        "selector": SELECTOR,
        "endpoints": [
            {
                "port": str,
                "path": str,
                "interval": str,
                "scrapeTimeout": str,
                "authorization": {"credentials": {"name": str, "key": str}},
            }
        ],
    },
}


def objects(file: str) -> list[Any]:
    return list(yaml.safe_load_all((FOLDER / file).read_text()))


def the(kind: str, name: str | None = None) -> Any:
    [found] = [
        thing
        for file in FILES
        for thing in objects(file)
        if thing["kind"] == kind and name in (None, thing["metadata"]["name"])
    ]
    return found


def pod(kind: str) -> Any:
    return the(kind)["spec"]["template"]["spec"]


def containers(kind: str) -> list[Any]:
    return [*pod(kind).get("initContainers", ()), *pod(kind)["containers"]]


def faults(value: Any, shape: Any, at: str = "") -> Iterator[str]:
    """Where a value is not of the shape."""
    if isinstance(shape, dict) and isinstance(value, dict):
        for name, inner in value.items():
            known = shape.get(name, shape.get(type(name)))
            yield from [f"{at}.{name} is no field"] if known is None else faults(inner, known, f"{at}.{name}")
    elif isinstance(shape, list) and isinstance(value, list):
        for i, inner in enumerate(value):
            yield from faults(inner, shape[0], f"{at}[{i}]")
    elif (
        isinstance(shape, (dict, list))
        or not isinstance(value, shape)
        or (isinstance(value, bool) and shape is not bool)
    ):
        yield f"{at} has a value of another type: {value!r}"


@pytest.mark.parametrize("file", [*FILES, BOT])
def test_every_field_is_one_that_kubernetes_has(file: str) -> None:
    top = {"apiVersion": str, "kind": str, "metadata": META}

    assert [] == [
        fault
        for thing in objects(file)
        for fault in faults(thing, {**top, "spec": KINDS[thing["kind"]]}, thing["kind"])
    ]


def test_a_mistyped_field_and_a_number_for_a_text_are_found() -> None:
    [service] = [thing for thing in objects("server.yaml") if thing["kind"] == "Service"]
    service["spec"] |= {"selectors": {}, "ports": [{"name": 80, "port": True}]}

    assert len(list(faults(service["spec"], KINDS["Service"]))) == 3


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_what_is_mounted_is_there_and_labels_are_found(kind: str) -> None:
    volumes = [volume["name"] for volume in pod(kind)["volumes"]]
    mounted = {mount["name"] for box in containers(kind) for mount in box["volumeMounts"]}
    template = the(kind)["spec"]["template"]["metadata"]["labels"]

    assert sorted(volumes) == sorted(mounted)
    assert the(kind)["spec"]["selector"]["matchLabels"].items() <= template.items()


def test_the_service_leads_to_the_server_and_the_agents_to_the_service() -> None:
    service, [server] = the("Service"), pod("Deployment")["containers"]
    [agent] = pod("DaemonSet")["containers"]
    port = service["spec"]["ports"][0]
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]

    assert service["spec"]["selector"] == the("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert port["targetPort"] in [one["name"] for one in server["ports"]]
    assert f"http://{name}.{namespace}.svc:{port['port']}" in agent["args"]


def test_the_server_listens_where_it_is_looked_for() -> None:
    [server] = pod("Deployment")["containers"]
    [listens] = server["ports"]
    given = vars(whole_parser().parse_args(server["args"]))
    image = (FOLDER.parents[1] / "Dockerfile").read_text()

    assert listens["containerPort"] == (given["port"] or load(environ={}).serve.port)
    assert f"EXPOSE {listens['containerPort']}\n" in image
    assert given["host"] == "0.0.0.0"


def test_there_is_one_image() -> None:
    assert len({box["image"] for kind in ("Deployment", "DaemonSet") for box in containers(kind)}) == 1


def test_the_agent_takes_the_variables_that_are_set_for_it() -> None:
    [agent] = pod("DaemonSet")["containers"]
    set_here = {each["name"]: each.get("value", "gpu-1") for each in agent["env"]}
    image = (FOLDER.parents[1] / "Dockerfile").read_text()

    assert load(environ=set_here).agent.node == "gpu-1"
    assert {name for name in set_here if name.startswith("GPUDIAG_")} == {"GPUDIAG_NODE"}
    assert all(f"{name}={set_here[name]}" in image for name in set_here if name.startswith("NVIDIA_"))


def test_agents_run_beside_all_work_on_every_gpu_node_and_few_restart_at_once() -> None:
    spec = pod("DaemonSet")

    assert spec["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
    assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert (spec["hostPID"], spec["priorityClassName"]) == (True, "system-node-critical")
    assert the("DaemonSet")["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == "10%"
    for box in spec["containers"]:
        assert "nvidia.com/gpu" not in str(box["resources"])  # what is asked for is taken from the work
        assert box["securityContext"]["capabilities"]["add"] == ["SYSLOG", "SYS_PTRACE", "DAC_READ_SEARCH"]


def test_who_may_call_whom_is_said_of_the_pods_that_there_are() -> None:
    server, agent = the("NetworkPolicy", "gpudiag")["spec"], the("NetworkPolicy", "gpudiag-agent")["spec"]
    [way] = server["ingress"]
    [box] = pod("Deployment")["containers"]

    assert server["podSelector"] == the("Deployment")["spec"]["selector"]
    assert [one["port"] for one in way["ports"]] == [one["name"] for one in box["ports"]]
    assert {"podSelector": {}} in way["from"]  # the agents' namespace is the server's
    assert the("DaemonSet")["metadata"]["namespace"] == the("Deployment")["metadata"]["namespace"]
    assert agent["podSelector"] == the("DaemonSet")["spec"]["selector"]
    assert agent["policyTypes"] == ["Ingress"] and "ingress" not in agent


def test_a_node_can_be_drained() -> None:
    budget = the("PodDisruptionBudget")["spec"]

    assert budget["selector"] == the("Deployment")["spec"]["selector"]
    assert budget["maxUnavailable"] == 1 and budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_the_embedded_store_has_one_process_and_a_volume_of_its_own() -> None:
    deployment, claim = the("Deployment")["spec"], the("PersistentVolumeClaim")

    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert {"name": "store", "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}} in pod(
        "Deployment"
    )["volumes"]


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_nobody_has_more_rights_than_needed(kind: str) -> None:
    for box in containers(kind):
        rights = box["securityContext"]
        assert rights["readOnlyRootFilesystem"] and rights["allowPrivilegeEscalation"] is False
        assert rights["capabilities"]["drop"] == ["ALL"]
        assert "memory" in box["resources"]["limits"] and "cpu" in box["resources"]["requests"]
    assert pod(kind)["automountServiceAccountToken"] is False
    # A Service named gpudiag would set GPUDIAG_PORT=tcp://…, which is our own variable.
    assert pod(kind)["enableServiceLinks"] is False


def test_the_server_is_not_root_and_is_who_the_image_says() -> None:
    context = pod("Deployment")["securityContext"]
    image = (FOLDER.parents[1] / "Dockerfile").read_text()

    assert context["runAsNonRoot"] and f"--uid {context['runAsUser']} " in image
    assert "capabilities" not in context and all("add" not in box["securityContext"]["capabilities"]
                                                 for box in containers("Deployment"))  # fmt: skip


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_every_command_is_one_of_ours(kind: str) -> None:
    for box in containers(kind):
        whole_parser().parse_args(box["args"])


# ------------------------------------------------------------------------------------------ the bot


def test_the_bot_asks_our_server_as_an_admin_and_keeps_what_it_told() -> None:
    claim, bot = objects(BOT)
    spec, service = bot["spec"]["template"]["spec"], the("Service")["metadata"]
    [box] = spec["containers"]
    given = load(environ={each["name"]: each["value"] for each in box["env"]}).bot
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    mounted = {mount["mountPath"]: volumes[mount["name"]] for mount in box["volumeMounts"]}
    admins = [v["secret"] for v in pod("Deployment")["volumes"] if v["name"] == "admin-token"]

    assert given.api_url == f"http://{service['name']}.{service['namespace']}.svc:8000"
    assert [mounted["/etc/gpudiag"]["secret"]] == admins and given.token_file == "/etc/gpudiag/token"
    assert mounted["/data"]["persistentVolumeClaim"] == {"claimName": claim["metadata"]["name"]}
    assert str(given.state).startswith("/data/")
    whole_parser().parse_args(box["args"])


def test_there_is_one_bot_with_the_rights_of_the_server_and_none_of_its_calls() -> None:
    bot = objects(BOT)[-1]["spec"]
    spec, server = bot["template"]["spec"], pod("Deployment")
    [box], [other] = spec["containers"], server["containers"]

    assert (bot["replicas"], bot["strategy"]) == (1, {"type": "Recreate"})
    for name in ("securityContext", "automountServiceAccountToken", "enableServiceLinks"):
        assert spec[name] == server[name]
    assert (box["image"], box["securityContext"]) == (other["image"], other["securityContext"])
    assert bot["selector"]["matchLabels"] == bot["template"]["metadata"]["labels"]
    assert bot["template"]["metadata"]["labels"] != the("Service")["spec"]["selector"]


# ------------------------------------------------------------------------------ playing the pod


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # as the image says: the volume
    monkeypatch.delenv("GPUDIAG_STORE", raising=False)
    return Cluster(tmp_path)


class Cluster:
    """The Secrets as files, and the first containers of the server's pod run in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokens = {
            volume["secret"]["secretName"]: secrets.token_hex(32)
            for volume in pod("Deployment")["volumes"]
            if "secret" in volume
        }
        for name, token in self.tokens.items():
            (folder / name).mkdir()
            (folder / name / "token").write_text(token)

    def starts_the_pod(self) -> list[int]:
        """Exit codes of the containers that come before the server."""
        return [main(self.arguments(box)) for box in pod("Deployment")["initContainers"]]

    def arguments(self, box: Any) -> list[str]:
        """A container's arguments, with the paths at which this test has what is mounted."""
        secret_of = {
            volume["name"]: volume["secret"]["secretName"]
            for volume in pod("Deployment")["volumes"]
            if "secret" in volume
        }
        paths = {
            mount["mountPath"]: self.folder / secret_of[mount["name"]]
            for mount in box["volumeMounts"]
            if mount["name"] in secret_of
        }
        words = []
        for word in box["args"]:
            for path, here in paths.items():
                word = word.replace(path, str(here))
            words.append(word)
        return words


def test_the_tokens_of_the_secrets_open_what_they_are_for(
    cluster: Cluster,
    make_api: Callable[..., Api],
) -> None:
    assert cluster.starts_the_pod() == [0, 0, 0]
    assert cluster.starts_the_pod() == [0, 0, 0]  # and again, as after every update
    api = make_api(default_store())
    outside = {"Host": "gpudiag.gpudiag.svc:8000"}
    [agent] = [v["secret"]["secretName"] for v in pod("DaemonSet")["volumes"] if "secret" in v]

    def ask(token: str | None, method: str, path: str, body: bytes | None = None) -> Any:
        return api.ask(method, path, body, outside | ({"Authorization": f"Bearer {token}"} if token else {}))

    fitting, other = (ReportingNode(name, api).unsent(seconds=10)[0] for name in ("gpu-node-1", "db-1"))
    assert ask(cluster.tokens[agent], "POST", "/v1/snapshots", fitting)["stored"] == 1
    with pytest.raises(Forbidden, match="token create agent db-1"):
        ask(cluster.tokens[agent], "POST", "/v1/snapshots", other)
    mute = msgspec.json.encode({"node": "*", "seconds": 60, "by": "kim"})
    assert ask(cluster.tokens["gpudiag-admin"], "POST", "/v1/mutes", mute)["by"].startswith("kim")
    with pytest.raises(Unauthorized):
        ask(None, "GET", "/v1/nodes")


def test_prometheus_reads_the_metrics_with_the_token_that_the_monitor_names(
    cluster: Cluster,
    make_api: Callable[..., Api],
) -> None:
    cluster.starts_the_pod()
    api, service = make_api(default_store()), the("Service")
    [endpoint] = the("ServiceMonitor")["spec"]["endpoints"]
    secret = endpoint["authorization"]["credentials"]
    outside = {"Host": "10.0.3.7:8000", "Authorization": f"Bearer {cluster.tokens[secret['name']]}"}

    assert the("ServiceMonitor")["spec"]["selector"]["matchLabels"] == service["metadata"]["labels"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert secret["key"] == "token"
    assert "gpudiag_build_info" in api.ask("GET", endpoint["path"], headers=outside)
    with pytest.raises(Forbidden):
        api.ask("POST", "/v1/mutes", b'{"node": "*", "seconds": 60, "by": "kim"}', outside)


def test_the_probes_are_answered_without_a_token(
    cluster: Cluster,
    make_api: Callable[..., Api],
) -> None:
    cluster.starts_the_pod()
    api = make_api(default_store())
    [server] = pod("Deployment")["containers"]
    probed = [server[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]

    with Client(api.url) as kubelet:
        told = [kubelet._exchange("GET", path, None, {"Host": "10.0.3.7:8000"}).status for path in probed]

    assert told == [200, 200, 200]
