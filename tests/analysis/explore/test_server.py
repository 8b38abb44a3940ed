"""The server speaks to this machine's browser only."""

import re
import socket
import sys

import pytest
from dash import Dash

from justjump.analysis.explore import Session, make_app, server
from justjump.analysis.explore.server import listen


@pytest.fixture(scope="module")
def app(session: Session) -> Dash:
    return make_app(session)


@pytest.mark.parametrize("host", ["127.0.0.1:8050", "localhost:8050", "localhost"])
def test_own_names_are_served(app: Dash, host: str) -> None:
    assert app.server.test_client().get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example:8050", "127.0.0.1.evil.example", "localhost.evil.example:8050"])
@pytest.mark.parametrize("path", ["/", "/_dash-layout", "/assets/explore.css"])
def test_other_names_are_refused(app: Dash, host: str, path: str) -> None:
    assert app.server.test_client().get(path, headers={"Host": host}).status_code == 403


def test_the_page_names_no_other_server(app: Dash) -> None:
    response = app.server.test_client().get("/", headers={"Host": "localhost"})
    assert "default-src 'self'" in response.headers["Content-Security-Policy"]
    sources = re.findall(r'(?:src|href)="([^"]+)"', response.get_data(as_text=True))
    assert any("explore.css" in source for source in sources)
    assert all(source.startswith("/") and not source.startswith("//") for source in sources)


def test_only_the_loopback_interface_listens_and_a_taken_port_is_named(app: Dash) -> None:
    server = listen(app, port=0)
    try:
        assert server.socket.getsockname()[0] == "127.0.0.1"
        with pytest.raises(OSError, match=f"port {server.port} cannot be used .*--port 0"):
            listen(app, port=server.port)
    finally:
        server.server_close()


def test_a_taken_port_leaves_no_socket_open(app: Dash) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="cannot be used"):
            listen(app, port=taken.getsockname()[1])  # an open one would be a ResourceWarning


def test_the_first_click_finds_everything_ready(ring_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    monkeypatch.setattr(ring_session, "influence", lambda number, node: done.append(("influence", number)))
    monkeypatch.setattr(ring_session, "attention", lambda number, *edge: done.append(("attention", number)))
    monkeypatch.setattr(server, "listen", lambda app, port: pytest.fail("not yet") if not done else sys.exit())
    with pytest.raises(SystemExit):
        server.serve(ring_session, port=0)
    assert done == [("influence", 0), ("attention", 0)]
