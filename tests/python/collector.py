# SPDX-License-Identifier: GPL-2.0-or-later
"""A small mlqd in a thread: keeps the points of POST /v1/reports."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Collector:
    def __init__(self):
        self.points, self.streams, self.tokens = [], set(), set()
        self.lock = threading.Lock()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with collector.lock:
                    collector.points += body["points"]
                    collector.streams.add(body["stream"])
                    collector.tokens.add(self.headers["Authorization"])
                answer = json.dumps({"stored": len(body["points"]), "dropped": 0}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def losses(self):
        with self.lock:
            return [(point["i"], point["l"]) for point in self.points]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
