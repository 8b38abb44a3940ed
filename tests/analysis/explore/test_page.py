"""The page in a browser: it fits the window, in light and dark, and asks no other server."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By

from browser_page import DESKTOP, HUB, PHONE, Page, number_of_colours
from justjump.analysis.explore import Session, open_session

pytestmark = pytest.mark.slow


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
