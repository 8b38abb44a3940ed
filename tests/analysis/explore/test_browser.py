"""The page in a browser, as its users meet it."""

import io
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from justjump.analysis.explore import Session, make_app, open_session
from justjump.analysis.explore.server import listen

pytestmark = pytest.mark.slow

HUB = "163"
DESKTOP, PHONE = (1400, 1000), (390, 844)
# Where an element of a graph is, from the middle of the graph.
POSITION = """
const box = document.getElementById(arguments[0]).getBoundingClientRect();
const element = document.getElementById(arguments[0])._cyreg.cy.$id(arguments[1]);
const place = element.isNode() ? element.renderedPosition() : element.renderedMidpoint();
return [place.x - box.width / 2, place.y - box.height / 2];
"""


class Page:
    """The page in the browser, by what one sees and does."""

    def __init__(self, browser: Chrome) -> None:
        self.browser = browser

    def open(self, address: str, size: tuple[int, int] = DESKTOP, scheme: str = "light") -> "Page":
        self.resize(size)
        self.set_scheme(scheme)
        self.browser.get_log("performance")  # what is there already belongs to another test
        self.browser.get_log("browser")
        self.browser.get(address)
        self.wait(lambda: "Choose a node" in self.text("facts"))
        return self

    def resize(self, size: tuple[int, int]) -> None:
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def set_scheme(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def wait(self, condition: Callable[..., object]) -> None:
        WebDriverWait(self.browser, 20, poll_frequency=0.05).until(lambda _: condition())

    def find(self, name: str) -> WebElement:
        return self.browser.find_element(By.ID, name)

    def text(self, name: str) -> str:
        found = self.browser.find_elements(By.ID, name)
        return found[0].text if found else ""

    def search(self, name: str) -> None:
        self.find("search").send_keys(Keys.CONTROL, "a")
        self.find("search").send_keys(name, Keys.ENTER)

    def show(self, name: str) -> "Page":
        self.search(name)
        self.wait(lambda: self.text("facts").startswith(f"Node {name}\n"))
        self.wait(lambda: self.graph_elements())
        return self

    def choose(self, group: str, value: str) -> None:
        self.browser.find_element(By.CSS_SELECTOR, f"#{group} input[value='{value}']").click()

    def graph_elements(self, number: int = 0) -> list[str]:
        script = "return document.getElementById(arguments[0])._cyreg.cy.elements().map((element) => element.id())"
        return list(self.browser.execute_script(script, f"graph-{number}"))

    def node_colours(self, number: int = 0) -> list[str]:
        script = """return document.getElementById(arguments[0])._cyreg.cy.nodes()
            .map((node) => node.style("background-color"))"""
        return list(self.browser.execute_script(script, f"graph-{number}"))

    def click(self, element: str, number: int = 0) -> None:
        graph = self.find(f"graph-{number}")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", graph)
        self.wait(lambda: element in self.graph_elements(number))
        places: list[object] = []
        while len(places) < 4 or places[-1] != places[-4]:  # a graph that is fitted to its place still moves
            places.append(self.browser.execute_script(POSITION, f"graph-{number}", element))
            time.sleep(0.1)
        x, y = self.browser.execute_script(POSITION, f"graph-{number}", element)
        ActionChains(self.browser).move_to_element_with_offset(graph, round(x), round(y)).click().perform()

    def edge_at(self, node: str, number: int = 0) -> str:
        """An edge of a node that lies alone."""
        script = """return document.getElementById(arguments[0])._cyreg.cy.$id(arguments[1]).connectedEdges()[0].id()"""
        return str(self.browser.execute_script(script, f"graph-{number}", f"node-{node}"))

    def picture(self, number: int = 0) -> np.ndarray:
        """Pixels of a graph ``[height, width, 3]``."""
        png = self.browser.find_elements(By.CSS_SELECTOR, ".graph")[number].screenshot_as_png
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))

    def is_too_wide(self) -> bool:
        return bool(self.browser.execute_script("return document.documentElement.scrollWidth > window.innerWidth"))

    def requests(self) -> list[str]:
        entries = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]

    def errors(self) -> list[str]:
        """Errors and warnings of the console."""
        found = self.browser.get_log("browser")
        return [entry["message"] for entry in found if entry["level"] in ("SEVERE", "WARNING")]

    def gap(self, number: int = 0) -> float:
        """The least distance of a graph's node from the edge of its place, in pixels."""
        script = """const cy = document.getElementById(arguments[0])._cyreg.cy;
            const box = cy.container().getBoundingClientRect(), all = cy.nodes().renderedBoundingBox();
            return Math.min(all.x1, all.y1, box.width - all.x2, box.height - all.y2)"""
        return float(self.browser.execute_script(script, f"graph-{number}"))


@pytest.fixture
def page(browser: Chrome, address: str) -> Page:
    return Page(browser).open(address)


def number_of_colours(picture: np.ndarray) -> int:
    return len(np.unique(picture.reshape(-1, 3), axis=0))


def test_search_shows_the_neighbourhood_in_both_runs(page: Page, session: Session) -> None:
    empty = number_of_colours(page.picture())
    page.show("35")
    nodes = session.neighbourhood(35, 2).nodes
    for number in (0, 1):
        drawn = [element for element in page.graph_elements(number) if element.startswith("node-")]
        assert sorted(drawn) == sorted(f"node-{node}" for node in nodes)
        assert "sure" in page.text(f"says-{number}")
        assert "0 hops" in page.text(f"influence-{number}")
        assert number_of_colours(page.picture(number)) > empty + 30
    assert page.errors() == []


def test_suggestions_while_typing(page: Page) -> None:
    page.find("search").send_keys("270")
    script = "return Array.from(document.querySelectorAll('#suggestions option')).map((option) => option.value)"
    page.wait(lambda: page.browser.execute_script(script)[:2] == ["270", "2700"])


def test_a_click_on_a_node_goes_there_and_back(page: Page) -> None:
    page.show("35")
    for node in ("34", "35", "34"):
        page.click(f"node-{node}", number=1)
        page.wait(lambda node=node: page.text("facts").startswith(f"Node {node}\n"))
        page.wait(lambda node=node: f"node-{node}" in page.graph_elements())
        assert page.find("search").get_attribute("value") == node


def test_colourings(page: Page, session: Session) -> None:
    page.show(HUB)
    pictures = {}
    for colouring in ("predicted", "true", "influence"):
        before = page.node_colours()
        page.choose("colouring", colouring)
        page.wait(lambda before=before: page.node_colours() != before)
        pictures[colouring] = page.node_colours()
        known = session.class_names[0] in page.text("legend")
        page.wait(
            lambda known=known, by_class=colouring != "influence": known == by_class or "%" in page.text("legend")
        )
    around = session.neighbourhood(int(HUB), 2).nodes
    classes = len(np.unique(session.runs[0].predicted[around])), len(np.unique(session.graph.labels[around]))
    assert len(set(pictures["predicted"])) == classes[0]
    assert len(set(pictures["true"])) == classes[1]
    assert len(set(pictures["influence"])) > 10


def test_hops(page: Page, session: Session) -> None:
    page.show("35")
    for hops in ("1", "3"):
        page.choose("hops", hops)
        shown = len(session.neighbourhood(35, int(hops)).nodes)
        page.wait(lambda: f"{shown} nodes within {hops} hop" in page.text("facts"))  # noqa: B023


def test_a_click_on_an_edge_shows_its_attention(page: Page, session: Session) -> None:
    page.show("35")
    page.click(page.edge_at("35"))
    page.wait(lambda: "What 35 takes from 34" in page.text("edge-title-0"))
    layers = session.attention(0, target=35, source=34)
    assert layers is not None
    assert f"refuses {layers[-1].refused.mean():.0%}" in page.text("edge-0")
    mean = layers[-1].weight.mean(axis=0)
    assert f"the largest share ({mean.max():.0%}) from h({mean.argmax()}), the" in page.text("edge-0").replace("\n", "")
    tables = page.browser.find_elements(By.CSS_SELECTOR, "#edge-0 table")
    assert [len(table.find_elements(By.CSS_SELECTOR, "tbody tr")) for table in tables] == [5, 5]  # heads and their mean
    assert [len(table.find_elements(By.CSS_SELECTOR, "tr.mean td")) for table in tables] == [2, 3]
    steps = tables[1].find_elements(By.CSS_SELECTOR, ".step")
    assert [(step.text, step.get_attribute("title")) for step in steps] == [
        ("h(0)", "the projected features"),
        ("h(1)", "the output of layer 1"),
    ]
    assert "GCN does not choose" in page.text("edge-1")
    page.browser.find_element(By.XPATH, "//button[text()='other direction']").click()
    page.wait(lambda: "What 34 takes from 35" in page.text("edge-title-1"))
    page.show("36")
    page.wait(lambda: "to see what it attends to" in page.text("edge-0"))
    assert "GCN has no attention. Click an edge" in page.text("edge-1")  # nor does it invite to see any
    assert "an edge to see its attention" in page.text("hover-0")
    assert "an edge to see its weight" in page.text("hover-1")


def test_a_hub_says_what_is_left_out(page: Page, session: Session) -> None:
    page.show(HUB)
    total = f"{session.size(int(HUB), 2):,}"
    assert f"{total} nodes are within 2 hops, the nearest 120 are drawn" in page.text("facts")
    assert sum(element.startswith("node-") for element in page.graph_elements()) == 120
    assert number_of_colours(page.picture()) > 50


def test_an_unknown_node_keeps_what_is_there(page: Page) -> None:
    page.show("35")
    page.search("35x")
    page.wait(lambda: "There is no node “35x”: name one of 2708 nodes, 0 to 2707" in page.text("message"))
    assert page.find("search").get_attribute("placeholder") == "number, then Enter"
    assert page.text("facts").startswith("Node 35\n")
    page.search("270 ")
    page.wait(lambda: page.text("facts").startswith("Node 270\n"))
    assert page.text("message") == ""


def test_accuracy_and_disagreements(page: Page, session: Session) -> None:
    assert f"test {session.runs[0].run.test_accuracy:.1%}" in page.text("page")
    diagonal = page.browser.find_elements(By.CSS_SELECTOR, ".confusion td.diagonal")
    assert [int(cell.text) for cell in diagonal[:7]] == session.confusion(0).diagonal().tolist()
    nodes = session.disagreements()
    assert f"{len(nodes):,} of 2,708 nodes" in page.text("list")
    second = page.browser.find_elements(By.CSS_SELECTOR, "#list button")[1]
    second.send_keys(Keys.ENTER)  # by keyboard, and the news comes into view
    page.wait(lambda: page.text("facts").startswith(f"Node {nodes[1]}\n"))
    top = "return document.getElementById('facts').getBoundingClientRect().top"
    assert 0 <= page.browser.execute_script(top) < DESKTOP[1]


def test_everything_can_be_reached_by_keyboard(page: Page) -> None:
    page.show("35")
    keys = ActionChains(page.browser)
    seen = set()
    for _ in range(40):
        keys.send_keys(Keys.TAB).perform()
        focused = page.browser.switch_to.active_element
        seen.add((focused.tag_name, focused.get_attribute("name") or focused.text or focused.get_attribute("type")))
        if focused.text == "edge":
            focused.send_keys(Keys.ENTER)
            break
    page.wait(lambda: "What 35 takes from" in page.text("edge-title-0"))
    assert ("button", "Show") in seen
    assert ("button", "35") in seen


def test_nothing_is_asked_of_other_servers(page: Page, address: str) -> None:
    page.show("35")
    page.click(page.edge_at("35"))
    page.wait(lambda: "takes from" in page.text("edge-title-0"))
    requests = [url for url in page.requests() if not url.startswith("data:")]
    assert len(requests) > 5
    assert {urlsplit(url).netloc for url in requests} == {urlsplit(address).netloc}


@pytest.mark.parametrize("size", [DESKTOP, (760, 900), PHONE])
def test_the_page_fits_the_window(browser: Chrome, address: str, size: tuple[int, int]) -> None:
    page = Page(browser).open(address, size)
    assert not page.is_too_wide()
    page.show(HUB)
    page.browser.find_element(By.XPATH, "//button[text()='edge']").click()
    page.wait(lambda: "takes from" in page.text("edge-title-0"))
    assert not page.is_too_wide()
    first, second = page.browser.find_elements(By.CSS_SELECTOR, ".graph")
    assert (first.location["y"] == second.location["y"]) == (size == DESKTOP)
    assert number_of_colours(page.picture()) > 50


def test_graphs_fit_a_window_that_gets_narrower_and_wider(page: Page) -> None:
    page.show(HUB)
    page.wait(lambda: page.gap() >= 0)
    for size in (PHONE, (900, 800), DESKTOP):
        page.resize(size)
        for number in (0, 1):
            page.wait(lambda number=number: 10 <= page.gap(number) <= 60)


def test_dark_and_light(browser: Chrome, address: str) -> None:
    page = Page(browser).open(address, scheme="dark").show(HUB)
    assert np.median(page.picture()) < 60
    assert number_of_colours(page.picture()) > 50
    dark = page.node_colours()
    page.set_scheme("light")  # while the page is open
    page.wait(lambda: page.node_colours() != dark)
    assert np.median(page.picture()) > 200
    assert number_of_colours(page.picture()) > 50


def test_names_are_text(browser: Chrome, serve: Callable[[Session], str], ring: Path, ring_run: Path) -> None:
    session = open_session([ring_run], str(ring), directed=True, data_dir=None)
    name = session.names[0]
    assert name.startswith("<img")
    page = Page(browser).open(serve(session), PHONE)
    assert page.find("search").get_attribute("placeholder") == "name, then Enter"
    page.show(name)
    assert "number 0" in page.text("facts")  # no name is a number here, and so one may be taken for a node
    assert "<b>cat</b>" in page.text("page")
    page.search("<img")
    page.wait(lambda: f"There is no node “<img”: did you mean {name}" in page.text("message"))
    assert page.browser.find_elements(By.TAG_NAME, "img") == []
    assert not page.is_too_wide()
    assert page.errors() == []


def test_a_failure_is_told(browser: Chrome, session: Session) -> None:
    server = listen(make_app(session), port=0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    page = Page(browser).open(f"http://127.0.0.1:{server.port}")
    script = "window.dash_clientside.set_props('node', {data: 99999})"
    page.browser.execute_script(script)
    page.wait(lambda: "That did not work: there is no node 99999" in page.text("message"))
    server.shutdown()
    thread.join()
    server.server_close()
    page.search("35")
    page.wait(lambda: "The server of this page has stopped" in page.text("message"))
