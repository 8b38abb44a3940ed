"""The server speaks to this machine's browser only."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from dash import Dash
from dash.exceptions import PreventUpdate
from waitress import wasyncore

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


UPDATE = "/_dash-update-component"


def _request(app: Dash, output: str, **values: Any) -> dict[str, Any]:
    """The request that the page sends for an output, with these values of its inputs (`node_data=35`)."""
    dependencies = app.server.test_client().get("/_dash-dependencies", headers={"Host": "localhost"}).get_json()
    known = next(each for each in dependencies if output in each["output"] and not each["clientside_function"])
    names = [name.rsplit(".", 1) for name in known["output"].strip(".").split("...")]
    outputs = [{"id": element, "property": name} for element, name in names]
    given = {
        kind: [{**each, "value": values.get(f"{each['id']}_{each['property']}")} for each in known[kind]]
        for kind in ("inputs", "state")
    }
    changed = [f"{each['id']}.{each['property']}" for each in known["inputs"]]
    several = known["output"].startswith("..")
    return {
        "output": known["output"],
        "outputs": outputs if several else outputs[0],
        **given,
        "changedPropIds": changed,
        "parsedChangedPropsIds": changed,
    }


def _send(app: Dash, content: Any, **headers: str) -> Any:
    body = content if isinstance(content, bytes) else json.dumps(content)
    client = app.server.test_client()
    return client.post(UPDATE, data=body, content_type="application/json", headers={"Host": "localhost"} | headers)


def _open(address: str, text: bytes = b"") -> socket.socket:
    url = urlsplit(address)
    connection = socket.create_connection((str(url.hostname), url.port or 80), timeout=30)
    connection.sendall(text)
    return connection


def _answer(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    answer = b""
    with connection, contextlib.suppress(ConnectionError):
        while block := connection.recv(1 << 16):
            answer += block
    return answer


WRONG_VALUES = [
    ("node-contents", {"node_data": 35, "hops_value": "1000000"}, "1000000 hops cannot be shown: choose 1, 2 or 3"),
    ("node-contents", {"node_data": 35, "hops_value": 7}, "7 hops cannot be shown: choose 1, 2 or 3"),
    ("node-contents", {"node_data": 35, "hops_value": 2.0}, "2.0 hops cannot be shown"),
    ("node-contents", {"node_data": 35, "hops_value": ["2"]}, "['2'] hops cannot be shown"),
    ("node-contents", {"node_data": 2708, "hops_value": "2"}, "there is no node 2708: the graph has nodes 0 to 2707"),
    ("node-contents", {"node_data": -1, "hops_value": "2"}, "there is no node -1"),
    ("node-contents", {"node_data": True, "hops_value": "2"}, "there is no node True"),
    ("node-contents", {"node_data": "x" * 99, "hops_value": "2"}, f"there is no node {'x' * 39}…:"),
    ("edge-contents", {"edge_data": {"target": 3}}, "{'target': 3} is not an edge"),
    ("edge-contents", {"edge_data": {"target": 3, "source": "4"}}, "there is no node 4"),
    ("edge-contents", {"edge_data": {"target": 3, "source": 4}}, "there is no edge from node 4 to node 3"),
    (
        "legend-contents",
        {"colouring_value": "x", "highest_data": 0.5},
        "there is no colouring x: choose one of influence",
    ),
    ("legend-contents", {"colouring_value": "true", "highest_data": [1]}, "[1] is not a share of influence"),
    ("legend-contents", {"colouring_value": "true", "highest_data": float("nan")}, "nan is not a share of influence"),
    ("suggestions", {"search_value": "9" * 5000}, "cannot be searched for: type at most 1000 letters"),
    ("node.data", {"search_value": {"a": 1}}, "{'a': 1} cannot be searched for"),
]


def test_a_number_of_hops_may_be_a_number(app: Dash) -> None:
    answers = [_send(app, _request(app, "node-contents", node_data=35, hops_value=hops)) for hops in (1, "1")]
    assert answers[0].get_json() == answers[1].get_json()
    assert "sideUpdate" not in answers[0].get_json()


@pytest.mark.parametrize(("output", "values", "message"), WRONG_VALUES)
def test_wrong_values_are_explained_on_the_page_and_in_one_line(
    app: Dash, output: str, values: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = time.monotonic()
    answer = _send(app, _request(app, output, **values))
    assert time.monotonic() - begin < 5
    assert answer.status_code == 200
    told = answer.get_json()["sideUpdate"]["message"]["children"]
    assert told.startswith("That did not work: ")
    assert message in told
    errors = capsys.readouterr().err
    assert errors.startswith("error: ")
    assert message in errors
    assert errors.count("\n") == 1


MALFORMED = [b"", b"{", b"[]", b"null", b"3", b"{}", b"\xff\xfe", b"[" * 50_000, b'{"output": 1}', b'{"output": "a.b"}']


@pytest.mark.parametrize("body", [*MALFORMED, b'{"output": "\\u001b[2J\\nTraceback", "outputs": {}}'])
def test_malformed_requests_are_refused_without_a_traceback(
    app: Dash, body: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _send(app, body).status_code == 400
    errors = capsys.readouterr().err
    assert errors.count("\n") <= 1
    assert "\x1b" not in errors
    assert "File " not in errors


@pytest.mark.parametrize("change", [{"inputs": None}, {"inputs": [1]}, {"outputs": None}, {"changedPropIds": 3}])
def test_requests_with_wrong_parts_are_refused(
    app: Dash, change: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = _request(app, "node-contents", node_data=35, hops_value="2") | change
    assert _send(app, wrong).status_code == 400
    assert re.fullmatch(rf"error: POST {UPDATE}: .*\n", capsys.readouterr().err)


def test_files_that_are_not_there(app: Dash, capsys: pytest.CaptureFixture[str]) -> None:
    client = app.server.test_client()
    for path in ("/_dash-component-suites/x/y.js", "/_dash-component-suites/dash/../x.js", "/assets/../server.py"):
        assert client.get(path, headers={"Host": "localhost"}).status_code == 404
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "https://localhost"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"},  # a form of another page
    ],
)
def test_other_pages_cannot_use_it(app: Dash, headers: dict[str, str]) -> None:
    click = _request(app, "node-contents", node_data=35, hops_value="2")
    assert _send(app, click, **headers).status_code == 403


def test_the_page_itself_and_links_to_it_are_served(app: Dash) -> None:
    click = _request(app, "node-contents", node_data=35, hops_value="2")
    assert _send(app, click, **{"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}).status_code == 200
    link = {"Host": "localhost", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert app.server.test_client().get("/", headers=link).status_code == 200


def test_headers(address: str) -> None:
    head = _answer(_open(address, b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")).split(b"\r\n\r\n")[0].decode()
    assert "frame-ancestors 'none'" in head
    for line in (
        "X-Frame-Options: DENY",
        "X-Content-Type-Options: nosniff",
        "Cross-Origin-Resource-Policy: same-origin",
    ):
        assert line in head
    assert "\nServer:" not in head
    assert "Werkzeug" not in head


def test_a_body_that_is_too_large_is_not_read(app: Dash, address: str) -> None:
    assert _send(app, b" " * (server.MOST_BYTES + 1)).status_code == 413
    head = f"POST {UPDATE} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    assert b" 413 " in _answer(_open(address, head + b"Content-Length: 1073741824\r\n\r\n")).splitlines()[0]
    chunk = b"%x\r\n%s\r\n" % (1000, b"x" * 1000)
    connection = _open(address, head + b"Transfer-Encoding: chunked\r\n\r\n")
    with connection, pytest.raises(ConnectionError):
        connection.sendall(chunk * 50_000)  # 50 MB


@pytest.mark.parametrize(
    "text",
    [b"\x16\x03\x01\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a b:c\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"],
)
def test_what_is_not_http_is_refused(address: str, text: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    connection = _open(address, text)
    assert connection.recv(12)[-3:] in (b"400", b"403")
    connection.close()
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_many_requests_at_once_are_all_answered(app: Dash, address: str) -> None:
    body = json.dumps(_request(app, "node-contents", node_data=35, hops_value="2")).encode()
    head = f"POST {UPDATE} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    text = head.encode() + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    threads = threading.active_count()
    connections = [_open(address, text) for _ in range(400)]
    assert threading.active_count() == threads
    answers = [_answer(connection) for connection in connections]
    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)


def test_half_open_connections_take_no_threads_and_the_page_stays(address: str) -> None:
    threads = threading.active_count()
    connections = [_open(address, b"GET / HTTP/1.1\r\nHo") for _ in range(300)]
    assert threading.active_count() == threads
    connection = HTTPConnection(urlsplit(address).netloc, timeout=20)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    connection.close()
    for half_open in connections:
        half_open.close()


@pytest.mark.slow
def test_too_many_connections_make_room(app: Dash) -> None:
    small = listen(app, port=0)
    small.adj.connection_limit = 20
    thread = threading.Thread(target=small.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{small.port}"
    connections = [_open(address, b"GET / HTTP/1.1\r\nHo") for _ in range(60)]
    answer = _answer(_open(address, b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"))
    small.shutdown()
    thread.join()
    small.server_close()
    for connection in connections:
        connection.close()
    assert b" 200 OK" in answer


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["LONGEST_REQUEST", "LONGEST_SILENCE"])
def test_slow_and_silent_connections_are_closed(address: str, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(server, limit, 0.5)
    connection = _open(address)
    begin = time.monotonic()
    with connection, contextlib.suppress(ConnectionError, TimeoutError):
        connection.settimeout(0.2)
        while time.monotonic() - begin < 8:
            if limit == "LONGEST_REQUEST":
                connection.sendall(b"G")
            with contextlib.suppress(TimeoutError):
                assert connection.recv(100) == b""
                break
    assert time.monotonic() - begin < 8


def test_a_computation_does_not_hold_up_the_end(app: Dash, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    computing, released = threading.Event(), threading.Event()

    def compute(*_: object) -> None:
        computing.set()
        released.wait(20)
        raise PreventUpdate

    monkeypatch.setattr(session, "influence", compute)
    body = json.dumps(_request(app, "node-contents", node_data=35, hops_value="2")).encode()
    busy = listen(app, port=0)
    thread = threading.Thread(target=busy.serve_forever)
    thread.start()
    head = f"POST {UPDATE} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    with _open(f"http://127.0.0.1:{busy.port}", head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)):
        assert computing.wait(10)
        begin = time.monotonic()
        busy.shutdown()
        thread.join()
        busy.server_close()
        assert time.monotonic() - begin < 2
        released.set()


def test_an_interrupt_ends_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = wasyncore.loop

    def interrupt(**settings: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        loop(**settings)  # the servers of other tests

    monkeypatch.setattr(wasyncore, "loop", interrupt)
    server.serve(session, port=0)  # a socket left open would be a ResourceWarning


@pytest.mark.slow
def test_ctrl_c_ends_the_command(runs: list[Path]) -> None:
    program = "from justjump.cli import main; main()"
    command = [sys.executable, "-c", program, "explore", str(runs[0]), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "until Ctrl-C" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
