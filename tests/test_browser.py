"""The report and its pages in a real browser, from a file, offline: nothing is loaded, nothing overflows, every picture shows."""

import shutil

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed")

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync", "--window-size=1280,900"]
LOADED = "return performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('data:'))"
BROKEN = "return [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length"
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def pages(demo_home):
    run = demo_home / "reports" / "demo"
    return [run / "report.html", *sorted((run / "notebooks").glob("*.html"))]


def test_pages_stand_alone(browser, demo_home):
    found = pages(demo_home)
    assert len(found) == 8
    for page in found:
        browser.get(page.as_uri())
        assert browser.execute_script(LOADED) == [], page.name
        assert browser.execute_script(BROKEN) == 0, page.name
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == [], page.name


@pytest.mark.parametrize("width", [1280, 1000])
def test_nothing_overflows_at_laptop_width(browser, demo_home, width):
    browser.set_window_size(width, 900)
    for page in pages(demo_home):
        browser.get(page.as_uri())
        assert browser.execute_script(OVERFLOW) <= 0, page.name


def test_the_key_table_and_figure_come_first_and_links_lead_to_pages(browser, demo_home):
    browser.set_window_size(1280, 900)
    browser.get((demo_home / "reports" / "demo" / "report.html").as_uri())
    places = "return [...document.querySelectorAll('table, img')].slice(0, 2).map(e => e.tagName)"
    assert browser.execute_script(places) == ["TABLE", "IMG"]
    links = browser.execute_script("return [...document.links].map(a => a.getAttribute('href')).filter(h => h.endsWith('.html'))")
    assert len(links) == 7
    browser.get((demo_home / "reports" / "demo" / links[0]).as_uri())
    assert "Start here" in browser.title or "Start here" in browser.find_element("tag name", "h1").text


def test_it_reads_in_the_dark(browser, demo_home):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    browser.get((demo_home / "reports" / "demo" / "report.html").as_uri())
    shade = (
        "const c = getComputedStyle(document.body)[arguments[0]].match(/[\\d.]+/g).map(Number); return (c[0] + c[1] + c[2]) / 3"
    )
    ground, ink = (browser.execute_script(shade, name) for name in ("backgroundColor", "color"))
    assert ground < 80
    assert ink > 170
