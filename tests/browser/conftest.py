"""A real server and a real Chromium. Without Chromium these tests are skipped, and say so."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import TimeoutError

from tests.conftest import PYTHON, ROOT

# The shell without windows, which is another package, takes a third less processor time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # letters as wide as where they are seen
]
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.hookimpl(tryfirst=True)  # before the marks are read
def pytest_collection_modifyitems(items):
    """The short test command drives the journeys alone.

    A busy machine may swallow a click; such a test is run once more, and the summary names it.
    """
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))
        if item.get_closest_marker("browser") and not (
            item.get_closest_marker("journey") or item.get_closest_marker("long")
        ):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Of a test that failed, the fixture `new_page` tells what its pages show."""
    report = yield
    if call.when == "call":
        item.stash[FAILED] = report.failed
    return report


FAILED = pytest.StashKey[bool]()

# Of a page's own address Streamlit asks first whether the server is there: it is one level above.
PROBES = ("/_stcore/health", "/_stcore/host-config")


# It also asks whether the file of a download button is there. While two runs of a page overlap it may be neither kept
# by the older nor made again by the newer one yet; tests that press such a button wait for the file.
FILE_PROBE = "Client Error: Download Button source error - 404"


def _asked_for(message) -> bool:
    """Whether an error on the console is the answer to Streamlit's probe, or a refusal that a test asks for."""
    url = message.location["url"]
    probe = "404" in message.text and (url.endswith(PROBES) or "/media/" in url)
    return probe or message.text == FILE_PROBE or "413" in message.text


class Server:
    """`streamlit run app.py` on a free port, or a given one, with a results cache of its own."""

    def __init__(self, results: str, *options: str, app: str = "app.py", port: int = 0, **environment: str):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = port or probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")  # noqa: SIM115
        self.process = subprocess.Popen(
            [PYTHON, "-m", "streamlit", "run", app, "--server.port", str(self.port), *options],
            cwd=ROOT,
            env=os.environ
            | {"SYNTH_RESULTS_DIR": results, "SYNTH_MECHANISMS": "unweighted,weighted"}
            | environment,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + 180
        while True:
            try:
                urllib.request.urlopen(self.url + "/_stcore/health", timeout=1)
                return
            except OSError:
                if time.monotonic() > deadline:
                    self.process.kill()
                    raise AssertionError("the app did not start") from None
                time.sleep(0.1)

    def stop(self) -> float:
        """Ask it to end; return the seconds that took."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(90)  # beside other work its workers take their time to end
        self.log.close()
        return time.monotonic() - started


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.skip("Chromium not found: browser tests skipped. sudo apt-get install -y chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(chromium, tmp_path_factory):
    server = Server(str(tmp_path_factory.mktemp("browser-results")))
    yield server
    server.stop()


LOOK = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"}


@pytest.fixture(scope="session")
def used_browser(chromium, tmp_path_factory):
    """A Chromium with a profile of its own, which has compiled the scripts of the app before.

    To load a page costs it half of the processor time that a new browser takes, and that was most of a short test.
    """
    context = chromium.browser_type.launch_persistent_context(
        tmp_path_factory.mktemp("profile"), executable_path=CHROMIUM, args=FLAGS, **LOOK
    )
    yield context
    context.close()


def forget(context, origin):
    """Close the pages of a browser but its first, blank one, and take away what the app has left in it."""
    blank, *pages = context.pages
    for page in pages:
        page.close()
    context.clear_cookies()
    session = context.new_cdp_session(blank)
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage"})
    session.detach()


@pytest.fixture
def new_page(chromium, used_browser, server, request):
    """Open a page in a browser of its own; fails on a console error or a foreign request.

    The first one is in a browser that was used before, and that has forgotten all that the app has left in it.
    """
    contexts, problems = [], []

    def open_page(path="/", theme="light"):
        context = chromium.new_context(**LOOK) if contexts else used_browser
        contexts.append(context)
        page = context.new_page()
        page.emulate_media(color_scheme=theme)
        page.set_default_timeout(30_000)
        local = (server.url, "data:", "blob:")
        page.on("request", lambda r: r.url.startswith(local) or problems.append(r.url))
        page.on(
            "console",
            lambda m: m.type == "error" and not _asked_for(m) and problems.append(m.text),
        )
        page.on("pageerror", lambda e: problems.append(f"script: {e}"))
        page.goto(server.url + path)
        return page

    yield open_page
    for context in contexts:
        if request.node.stash.get(FAILED, False):
            for page in context.pages:
                print(page.url, page.evaluate(SHOWN))
        if context is used_browser:
            forget(context, server.url)
        else:
            context.close()
    assert not problems, problems


def settled(page):
    """Wait until no script runs: what a test then clicks or types is not replaced under its hands."""
    page.wait_for_timeout(150)
    page.wait_for_function(
        """() => { const app = document.querySelector('[data-testid=stApp]');
        return app && app.dataset.testScriptState === 'notRunning'
          && app.dataset.testConnectionState === 'CONNECTED'; }""",
        timeout=60_000,
    )
    page.wait_for_timeout(100)


def resize(page, width, height):
    """Make the window's view another size, in full screen too, where not every Chromium lets go of its window."""
    measures = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    page.context.new_cdp_session(page).send("Emulation.setDeviceMetricsOverride", measures)


def follow(page, name):
    """Go to another page by its link, and wait until the one before has left the document.

    Streamlit may let a timer of the page that is left win over a click that comes at the same moment: one clicks again.
    """
    link = page.get_by_role("link", name=name, exact=True).first
    wanted = link.evaluate("a => new URL(a.href).pathname")
    for last in (False, True):
        link.click()
        try:
            page.wait_for_url(
                lambda url: urlparse(url).path == wanted,
                timeout=30_000 if last else 8_000,
                wait_until="commit",
            )
            break
        except TimeoutError:
            if last:
                raise
    settled(page)
    assert urlparse(page.url).path == wanted, f"the link {name} led to {page.url}"


def pick(page, label, option):
    """Choose an option of a box that takes one, or one more of a box that takes several.

    On a busy machine the list swallows a click that comes while it opens, or closes when a run that was under way
    ends: nothing is sent, and one clicks again.
    """
    found = page.get_by_role("option", name=option, exact=True)
    for _ in range(8):
        try:
            if not found.is_visible():
                box = page.get_by_role("combobox", name=label, exact=True)
                box.click(timeout=3_000)
                box.fill(option, timeout=3_000)  # a long list holds what is on screen only
            found.click(timeout=3_000)
            # the list closes, or what is chosen leaves it
            return found.wait_for(state="hidden", timeout=3_000)
        except TimeoutError:
            continue
    raise AssertionError(f"{option} could not be chosen")


def use_beta(page, rows):
    """On the Data page: use the simulated beta example with so many rows."""
    settled(page)
    pick(page, "Example", "Simulated: Beta(0.5, 3)")
    page.get_by_text("Seed of the simulation").wait_for()
    settled(page)
    page.get_by_role("spinbutton", name="Records").fill(str(rows))
    page.get_by_role("spinbutton", name="Records").press("Enter")
    settled(page)
    page.get_by_role("button", name="Use this example").click()
    page.get_by_text("In use: example:beta").wait_for()
    page.get_by_text(f"{rows:,} complete rows").wait_for()
    settled(page)


def upload(page, file):
    """On the Data page: choose a file, which is then read and used; a refusal is said there too.

    On a busy machine a run that was under way may swallow the choice, and one chooses again.
    """
    settled(page)
    page.get_by_role("tab", name="Your file").click()
    settled(page)
    tabs = page.get_by_test_id("stTabs")  # a slow reading says how long it has taken
    ended = tabs.get_by_text("is loaded and in use").or_(tabs.get_by_test_id("stAlertContentError"))
    for last in (False, True):
        tabs.locator("input[type=file]").set_input_files(file)
        try:
            ended.first.wait_for(timeout=60_000 if last else 30_000)
            break
        except TimeoutError:
            if last:
                raise
    settled(page)


def set_role(page, column, role):
    """On the Data page: say what a column is."""
    page.get_by_role("combobox", name=f"Role of {column}", exact=True).select_option(role)
    settled(page)


def make_plan(page, kind="public data", **texts):
    """On the page Release: fill the form in, say what the table is, and wait for the plan."""
    settled(page)
    for label, text in ({"Why these settings": "a test", "Who decided": "A. Analyst"} | texts).items():
        page.get_by_role("textbox", name=label).fill(text)
        page.get_by_role("textbox", name=label).press("Tab")
        settled(page)
    pick(page, "The table named above is", kind)
    settled(page)
    page.get_by_role("button", name="Make the plan").click()


def check_fit(page):
    """On the Data page: ask whether the model fits, and wait for the verdict and its figures."""
    page.get_by_role("button", name="Check the fit").click()
    painted(page)
    settled(page)


def help_on(page, section):
    """Go to a section of the page Help."""
    follow(page, "Help")
    page.get_by_role("radio", name=section).click()
    settled(page)


def confirm_charge(page):
    """Tick the box that confirms a charge; Streamlit may show it twice for a moment."""
    box = page.get_by_role("checkbox", name="Yes, charge it").last
    # Of another label it is another box: a run that was under way may have put it there since.
    for _ in range(3):
        settled(page)
        page.get_by_text("Yes, charge it").last.click()
        settled(page)
        if box.count() == 0 or box.is_checked():  # paid for: it is gone
            return


def painted(page, old=None, timeout=120_000):
    """Wait for a fresh picture (another one than `old`) on the only board of the page and return its version.

    Streamlit may keep a page's elements for a moment beside those of the next.
    """
    try:
        handle = page.wait_for_function(
            """old => { const boards = document.querySelectorAll('.board'), b = boards[0];
            return boards.length === 1 && b.dataset.painted !== old && !b.classList.contains('stale')
                && b.dataset.painted; }""",
            arg=old,
            timeout=timeout,
        )
    except TimeoutError:
        raise AssertionError(f"no picture at {page.url}") from None
    return handle.json_value()


# What is told of a page whose test failed; the tables of tests are public or simulated.
SHOWN = """() => JSON.stringify({
    script: document.querySelector('[data-testid=stApp]')?.dataset.testScriptState,
    boards: [...document.querySelectorAll('.board')].map(b => ({ classes: b.className, painted: b.dataset.painted,
        version: b.synthState?.version, lacks: b.synthState?.lacks })),
    text: document.querySelector('[data-testid=stMain]')?.innerText.slice(0, 3000) })"""


def fixture_file(name: str, content: bytes, directory: Path) -> Path:
    path = directory / name
    path.write_bytes(content)
    return path
