"""A stand-in for the dashboard of RayClusters, which KubeRay asks how a Ray job fares: its id says that.

No pod of these tests runs Ray. KubeRay finds it because it is told to use it as its HTTP proxy.
"""

import json
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jobferry.testing.programs import ADDRESS

JOBS = "/api/jobs/"


class _Dashboard(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Tell of a job, whose id begins with how it fares, as in succeeded-1."""
        job = self.path.partition(JOBS)[2]
        status = job.partition("-")[0].upper()
        self._answer({"submission_id": job, "job_id": job, "status": status, "message": status})

    def do_POST(self) -> None:
        """Stop a job."""
        self._answer({"stopped": True})

    def _answer(self, body: object) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@cache
def url() -> str:
    """Start it, once, and return where it is; it ends with the process."""
    server = ThreadingHTTPServer((ADDRESS, 0), _Dashboard)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{ADDRESS}:{server.server_port}"
