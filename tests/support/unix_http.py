# SPDX-License-Identifier: GPL-2.0-or-later
"""HTTP over a local socket, as mlqd speaks it with the scheduler's plugin."""
import http.client
import socket


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=10):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
