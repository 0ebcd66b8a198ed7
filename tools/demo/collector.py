# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads mlqd over its Unix socket (doc/protocol.md)."""
import http.client
import json
import socket
from urllib.parse import urlencode


class CollectorError(Exception):
    """mlqd did not answer, or not with what was asked."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=5)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Collector:
    """One kept connection to the mlqd that listens on `path`, asked about one cluster."""

    def __init__(self, path, cluster):
        self._connection = _UnixConnection(path)
        self._cluster = cluster

    def _get(self, path, **query):
        target = f"{path}?{urlencode(dict(query, cluster=self._cluster))}"
        for attempt in (1, 2):  # a kept connection may have been closed meanwhile
            try:
                self._connection.request("GET", target)
                reply = self._connection.getresponse()
                body = reply.read()
                break
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if attempt == 2:
                    raise CollectorError(f"mlqd: {error or type(error).__name__}") from error
        if reply.status == 404:
            return None
        if reply.status != 200:
            raise CollectorError(f"mlqd: GET {target}: {reply.status} {body[:200].decode(errors='replace')}")
        try:
            return json.loads(body)
        except ValueError as error:
            raise CollectorError(f"mlqd: GET {target}: {error}") from error

    def jobs(self):
        """({job id: job}, the last cycle), ended jobs too."""
        reply = self._get("/v1/jobs", all=1) or {}
        return {job["job_id"]: job for job in reply.get("jobs", [])}, reply.get("cycle") or {}

    def points(self, job_id, most=200):
        """The last points of a job as [iteration, loss or None, time, cores or None]."""
        reply = self._get(f"/v1/jobs/{job_id}", points=most) or {}
        return reply.get("points", [])
