"""The page in a browser: what a search and a click show."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

from browser_page import DESKTOP, HUB, Page, number_of_colours
from justjump.analysis.explore import Session, make_app
from justjump.analysis.explore.classes import Classes
from justjump.analysis.explore.server import listen

pytestmark = pytest.mark.slow


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
        known = session.answers.names[0] in page.text("legend")
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
    assert f"{session.runs[0].run.test_accuracy:.1%}" in page.text("quality-0")
    assert isinstance(session.answers, Classes)
    diagonal = page.browser.find_elements(By.CSS_SELECTOR, ".confusion td.diagonal")
    assert [int(cell.text) for cell in diagonal[:7]] == session.answers.confusion(0).diagonal().tolist()
    nodes = session.disagreements()
    assert f"{len(nodes):,} of 2,708 nodes" in page.text("list")
    second = page.browser.find_elements(By.CSS_SELECTOR, "#list button")[1]
    second.send_keys(Keys.ENTER)  # by keyboard, and the news comes into view
    page.wait(lambda: page.text("facts").startswith(f"Node {nodes[1]}\n"))
    top = "return document.getElementById('facts').getBoundingClientRect().top"
    assert 0 <= page.browser.execute_script(top) < DESKTOP[1]


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


def test_other_tasks_are_coloured_by_numbers(
    browser: Chrome, serve: Callable[[Session], str], made: Callable[..., Session]
) -> None:
    page = Page(browser).open(serve(made("regression"))).show("7")
    page.choose("colouring", "error_0")
    page.wait(lambda: "error of target" in page.text("legend"))
    assert "too " in page.text("says-0")
    assert "class" not in page.text("page").lower()
    dot = page.browser.find_element(By.CSS_SELECTOR, "svg.scatter circle")
    node = dot.get_attribute("data-node")
    page.browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", dot)
    page.wait(lambda: page.text("facts").startswith(f"Node {node}\n"))
    page = Page(browser).open(serve(made("multilabel"))).show("7")
    before = page.node_colours()
    page.choose("colouring", "label_1")
    page.wait(lambda: "probability of 1" in page.text("legend"))
    page.wait(lambda: page.node_colours() != before)
    assert page.errors() == []


def test_a_graph_is_drawn_whole(browser: Chrome, serve: Callable[[Session], str], made: Callable[..., Session]) -> None:
    session = made("graphs")
    page = Page(browser).open(serve(session))
    assert "Choose a graph" in page.text("facts")
    page.search("9")
    page.wait(lambda: page.text("facts").startswith("Node 9:0\n"))
    size = int(np.count_nonzero(session.graph.batch == 9))
    page.wait(lambda: len([one for one in page.graph_elements() if one.startswith("node-")]) == size)
    assert f"all {size} nodes of its graph" in page.text("facts")
    page.search("40")
    page.wait(lambda: "There is no graph “40”: name one of 40 graphs, 0 to 39" in page.text("message"))
    assert page.errors() == []
