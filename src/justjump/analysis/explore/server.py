"""The server of the page. It answers this machine only, and loads nothing from elsewhere."""

from __future__ import annotations

import logging
import socket
import sys
from html import escape
from pathlib import Path
from typing import Any

from dash import Dash, set_props
from flask import Flask, Response, abort, request
from werkzeug.serving import BaseWSGIServer, make_server

from justjump.analysis.explore.callbacks import connect
from justjump.analysis.explore.page import page
from justjump.analysis.explore.session import Session
from justjump.train.process import keep_memory

HOST = "127.0.0.1"
# Dash writes scripts into its page, and styles go onto elements; everything else comes from this server.
CONTENT_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
)


def make_app(session: Session) -> Dash:
    """The page as a Dash application."""
    server: Any = Flask("justjump.analysis.explore")
    server.before_request(_refuse_other_hosts)
    server.after_request(_keep_to_itself)
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


def listen(app: Dash, port: int) -> BaseWSGIServer:
    """A server at a port of this machine (0: any free port), ready to be started."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # no line for every request
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            why = f"port {port} cannot be used ({error.strerror}): choose another; --port 0 takes a free one"
            raise OSError(why) from error
        listener.listen()
        # The server has its own copy of the socket.
        return make_server(HOST, listener.getsockname()[1], app.server, threaded=True, fd=listener.fileno())


def serve(session: Session, port: int) -> None:
    """Show the page until Ctrl-C."""
    keep_memory()
    session.warm_up()
    server = listen(make_app(session), port)
    print(f"the page is at http://{HOST}:{server.port} until Ctrl-C", flush=True)
    try:
        server.serve_forever()
    finally:
        server.server_close()


def _refuse_other_hosts() -> None:
    """Refuse requests under other host names: another site could make its name point to 127.0.0.1."""
    if request.host.rsplit(":", 1)[0] not in (HOST, "localhost"):
        abort(403)


def _keep_to_itself(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = CONTENT_POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _show_error(error: Exception) -> None:
    """Show an error of a callback on the page and on the terminal."""
    print(f"error: {error}", file=sys.stderr)
    set_props("message", {"children": f"That did not work: {error}"})
