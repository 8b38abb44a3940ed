"""The server of the page. It answers this machine only, loads nothing from elsewhere, and keeps to its limits."""

from __future__ import annotations

import logging
import socket
import sys
from html import escape
from pathlib import Path
from typing import Any

from dash import Dash, set_props
from dash.exceptions import DependencyException
from flask import Flask, Response, abort, request
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from werkzeug.exceptions import HTTPException

from justjump.analysis.explore.callbacks import connect
from justjump.analysis.explore.page import page
from justjump.analysis.explore.session import Session
from justjump.train.process import keep_memory

HOST = "127.0.0.1"
MOST_BYTES = 64 << 10  # of a request's body; those of the page have about one thousand
MOST_HEADER_BYTES = 16 << 10
MOST_CONNECTIONS = 500  # further ones wait until the system accepts them
THREADS = 4
LONGEST_REQUEST = 10  # seconds until a request has arrived
LONGEST_SILENCE = 15  # seconds until an idle connection is closed
# Dash writes scripts into its page, and styles go onto elements; everything else comes from this server.
CONTENT_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def make_app(session: Session) -> Dash:
    """The page as a Dash application."""
    server: Any = Flask("justjump.analysis.explore")
    server.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    server.before_request(_refuse_strangers)
    server.after_request(_keep_to_itself)
    server.register_error_handler(Exception, _explain)
    app = Dash(
        "justjump.analysis.explore",
        server=server,
        title=f"justjump: {escape(session.graph.name)}",
        update_title="",
        assets_folder=str(Path(__file__).parent / "assets"),
        serve_locally=True,
        on_error=_show_error,
    )
    app.index_string = app.index_string.replace("<html>", '<html lang="en">')
    app.layout = page(session)
    connect(app, session)
    return app


class PageServer(TcpWSGIServer):  # type: ignore[misc]  # waitress has no annotations
    """An application at a socket of this machine."""

    def __init__(self, app: Dash, listener: socket.socket) -> None:
        limits = Adjustments(
            sockets=[listener],
            ident=None,  # no Server header
            threads=THREADS,
            connection_limit=MOST_CONNECTIONS,
            max_request_body_size=MOST_BYTES + 1,  # the least size that is refused
            max_request_header_size=MOST_HEADER_BYTES,
            cleanup_interval=1,  # seconds between two calls of `maintenance`
            log_socket_errors=False,
            asyncore_use_poll=True,
        )
        where = (listener.family, listener.type, listener.proto, listener.getsockname())
        super().__init__(app.server, _sock=listener, adj=limits, sockinfo=where, bind_socket=False)
        self._stopped = False
        self._begun: dict[object, float] = {}  # when each request that is not complete was first seen

    @property
    def port(self) -> int:
        return int(self.effective_port)

    def maintenance(self, now: float) -> None:
        """Close idle connections, and those whose request takes too long to arrive; make room if there are too many."""
        silence, arrival = (1, 1) if self.in_connection_overflow else (LONGEST_SILENCE, LONGEST_REQUEST)
        waiting = [channel for channel in self.active_channels.values() if not channel.requests]
        arriving = [channel.request for channel in waiting if channel.request is not None]
        self._begun = {request: self._begun.get(request, now) for request in arriving}
        for channel in waiting:
            late = now - self._begun.get(channel.request, now) > arrival
            if late or now - channel.last_activity > silence:
                channel.will_close = True

    def serve_forever(self) -> None:
        """Answer requests until `shutdown` or Ctrl-C."""
        while not self._stopped:
            wasyncore.loop(timeout=1, use_poll=True, map=self._map, count=1)

    def shutdown(self) -> None:
        """End `serve_forever`, from another thread."""
        self._stopped = True
        self.pull_trigger()

    def server_close(self) -> None:
        """Close all connections. A computation that is under way is not waited for."""
        self.task_dispatcher.shutdown(timeout=0.2)
        wasyncore.close_all(self._map)


def listen(app: Dash, port: int) -> PageServer:
    """A server at a port of this machine (0: any free port), ready to be started."""
    logging.getLogger("waitress").addFilter(_report_record)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # no line for every request that waits
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        return PageServer(app, listener)
    except OSError as error:
        listener.close()
        why = f"port {port} cannot be used ({error.strerror}): choose another; --port 0 takes a free one"
        raise OSError(why) from error


def serve(session: Session, port: int) -> None:
    """Show the page until Ctrl-C."""
    keep_memory()
    session.warm_up()
    server = listen(make_app(session), port)
    try:
        print(f"the page is at http://{HOST}:{server.port} until Ctrl-C", flush=True)
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


def _refuse_strangers() -> None:
    """Refuse requests under other host names, and those of other web pages.

    Another site could make its name point to 127.0.0.1. A link to the page is fine.
    """
    if request.host.rsplit(":", 1)[0] not in (HOST, "localhost"):
        abort(403, f"This page is at {HOST} and localhost only.")
    origin = request.headers.get("Origin", f"http://{request.host}")
    fetched = request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
    followed = request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"
    if origin != f"http://{request.host}" or (fetched and not followed):
        abort(403, "Other web pages cannot use this page.")


def _keep_to_itself(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response


def _explain(error: Exception) -> Any:
    """Answer a request that cannot be understood with a sentence, and tell the terminal in one line."""
    if isinstance(error, HTTPException):
        return error
    if isinstance(error, DependencyException):
        return Response("There is no such file.", 404, mimetype="text/plain")
    _report(f"{request.method} {request.path}: {type(error).__name__}: {error}")
    if request.method == "POST":
        return Response("This is not a request of the page.", 400, mimetype="text/plain")
    return Response("That did not work.", 500, mimetype="text/plain")


def _show_error(error: Exception) -> None:
    """Show an error of a callback on the page and on the terminal."""
    _report(str(error) or type(error).__name__)
    set_props("message", {"children": f"That did not work: {error}"})


def _report_record(record: logging.LogRecord) -> bool:
    """Report an error that waitress logs in one line, without its traceback."""
    if record.levelno >= logging.ERROR:
        error = record.exc_info[1] if record.exc_info else None
        _report(record.getMessage() + (f": {type(error).__name__}: {error}" if error else ""))
    return False


def _report(text: str) -> None:
    """Print an error in one line. It may quote a request: nothing in it may move the cursor or fill the screen."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[:300])
    print(f"error: {line}", file=sys.stderr, flush=True)
