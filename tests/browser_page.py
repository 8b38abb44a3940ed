"""The page of ``justjump explore`` in a browser."""

import io
import json
import time
from collections.abc import Callable

import numpy as np
from PIL import Image
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

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
        self.wait(lambda: "Choose a" in self.text("facts"))
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


def number_of_colours(picture: np.ndarray) -> int:
    return len(np.unique(picture.reshape(-1, 3), axis=0))
