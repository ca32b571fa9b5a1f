"""As much of Kubernetes' API server as kubectl needs to read and patch one node, and to read pods and their logs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NODE = "/api/v1/nodes/node-7"
PODS = "/api/v1/namespaces/default/pods"
DISCOVERY: dict[str, dict[str, Any]] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "Node", "verbs": ["get", "patch"]},
            {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]},
        ],
    },
}
CONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
current-context: test
users: [{{name: test, user: {{token: test}}}}]
"""


class Node:
    """The node, the verbs of the requests for it, and what its pods have logged."""

    def __init__(self) -> None:
        metadata = {"name": "node-7", "resourceVersion": "1", "annotations": {}}
        self.document: dict[str, Any] = {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": {}, "status": {}}
        self.verbs: set[str] = set()
        self.logs: dict[tuple[str, str], bytes] = {}
        """By the name of a node and of a pod on it."""
        self.variables: dict[str, str] = {}
        """They tell kubectl where it is."""

    @property
    def pods(self) -> dict[str, Any]:
        """What is served about the pods, by path."""
        kind = {"kind": "Pod", "apiVersion": "v1"}
        each = {
            f"{PODS}/{pod}": {
                **kind,
                "metadata": {"name": pod, "namespace": "default"},
                "spec": {"nodeName": node, "containers": [{"name": "gpudoctor"}]},
            }
            for node, pod in self.logs
        }
        return {PODS: {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": list(each.values())}, **each}

    @property
    def taints(self) -> list[str]:
        return [f"{one['key']}={one.get('value', '')}:{one['effect']}" for one in self.document["spec"].get("taints") or []]

    @property
    def reason(self) -> str:
        return str(self.document["metadata"]["annotations"].get("gpudoctor/reason", ""))

    def patch(self, change: dict[str, Any], into: dict[str, Any] | None = None) -> None:
        """Merges as the API server does for taints and annotations: a list replaces the old one, null removes a key."""
        into = self.document if into is None else into
        for key, value in change.items():
            if isinstance(value, dict):
                self.patch(value, into.setdefault(key, {}))
            elif value is None:
                into.pop(key, None)
            else:
                into[key] = value


@contextmanager
def node(folder: Path) -> Iterator[Node]:
    """A server with one node, and `folder` as kubectl's home."""
    served = Node()

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status: int, document: dict[str, Any] | bytes) -> None:
            body, kind = (document, "text/plain") if isinstance(document, bytes) else (json.dumps(document).encode(), "application/json")
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == NODE:
                served.verbs.add("get")
                self.answer(200, served.document)
            elif found := (DISCOVERY | served.pods | {f"{PODS}/{pod}/log": log for (_, pod), log in served.logs.items()}).get(path):
                self.answer(200, found)
            else:
                self.answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})

        def do_PATCH(self) -> None:
            served.verbs.add("patch")
            served.patch(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer(200, served.document)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    config = folder / "kubeconfig"
    config.write_text(CONFIG.format(port=server.server_port))
    served.variables = {"KUBECONFIG": str(config), "HOME": str(folder)}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
