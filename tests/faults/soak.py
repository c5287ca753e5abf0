"""Random use by several browsers at once for as long as is asked, watched all the time.

What is looked for: an exception box or an apology on a page, an error in the browser's console, a server that
grows, and what is left when it has ended: processes, temporary files.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from synth_core.system import limits
from tests.browser.conftest import CHROMIUM, FLAGS, Server, painted, settled

PAGES = ("Data", "Compare", "Find settings", "Robustness", "Release", "Help")
WARM_MINUTES = 5  # until then workers import, caches fill
GROWTH = 0.10  # of the server's memory, from its warm state to the end
WAIT = 6_000  # ms for a control to be there; a page that changes under a user's hand is no error
TROUBLE = """() => {
  const of = id => [...document.querySelectorAll(`[data-testid=${id}]`)].map(e => e.innerText);
  return of('stAlert').filter(t => /Something went wrong|Traceback|Please report/.test(t))
    .concat(of('stException').map(t => 'exception box: ' + t));
}"""


@dataclass
class Report:
    """What was done and seen; `errors` and the three lists after it must be empty."""

    minutes: float = 0.0
    actions: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)  # controls that were not there (any more)
    errors: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    left_files: list[str] = field(default_factory=list)
    memory: list[tuple[float, int, int]] = field(
        default_factory=list
    )  # minute, server and whole tree in bytes
    cache_bytes: int = 0

    def growth(self) -> float:
        """By how much the server grew from its warm state to its end, as a share: means of three minutes each."""
        if self.minutes < 2 * WARM_MINUTES:
            return 0.0
        warm = [server for minute, server, _ in self.memory if WARM_MINUTES <= minute < WARM_MINUTES + 3]
        end = [server for minute, server, _ in self.memory if minute > self.minutes - 3]
        return (sum(end) / len(end)) / (sum(warm) / len(warm)) - 1

    def problems(self) -> list[str]:
        found = self.errors + [f"left: {each}" for each in self.orphans + self.left_files]
        if self.growth() > GROWTH:
            found.append(f"the server grew by {self.growth():.0%}")
        if self.cache_bytes > limits.CACHE_BYTES:
            found.append(f"the cache holds {self.cache_bytes / 1024**2:.0f} MiB")
        return found

    def text(self) -> str:
        mib = 1024**2
        server, tree = ([row[i] / mib for row in self.memory] or [float("nan")] for i in (1, 2))
        done = ", ".join(f"{name} {count:,}" for name, count in sorted(self.actions.items()))
        return "\n".join(
            [
                f"minutes {self.minutes:.1f}; actions {self.actions.total():,} ({done}); "
                f"controls that had gone: {self.missed.total():,}",
                *(f"  {count:3d} x {name}" for name, count in self.missed.most_common(8)),
                f"memory of the server: {server[0]:.0f} MiB at first, {server[-1]:.0f} at the end, "
                f"{max(server):.0f} at most, {self.growth():+.1%} from its warm state",
                f"memory with workers and samplers: {tree[0]:.0f}, {tree[-1]:.0f}, {max(tree):.0f} MiB; "
                f"results on disk {self.cache_bytes / mib:.0f} MiB",
                f"errors {len(self.errors)}, orphan processes {len(self.orphans)}, "
                f"temporary files left {len(self.left_files)}",
                *self.problems(),
            ]
        )


class Walk:
    """One browser's random walk."""

    def __init__(
        self,
        url: str,
        seed: int,
        directory: Path,
        report: Report,
        lock: threading.Lock,
        say: Callable[[str], None],
    ):
        self.url, self.rng, self.report, self._lock, self._say = url, random.Random(seed), report, lock, say
        self.name = f"browser {seed}"
        self.file = directory / f"table-{seed}.csv"
        self.last: deque[str] = deque(maxlen=4)  # what was done, and where
        self._told: set[str] = set()
        self.steps: list[tuple[int, str, Callable[[Any], None]]] = [
            (8, "slider", self.slider),
            (6, "number", self.number),
            (4, "page", self.page),
            (3, "mechanism", self.mechanism),
            (3, "cancel", self.cancel),
            (2, "map", self.map),
            (2, "reload", self.reload),
            (2, "example", self.example),
            (1, "upload", self.upload),
            (1, "undo", self.undo),
            (1, "model check", self.check_fit),
        ]

    def run(self, seconds: float) -> None:
        from playwright.sync_api import Error, sync_playwright

        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
                page.set_default_timeout(WAIT)
                page.on("console", lambda m: self.console(m.type, m.text))
                page.on("pageerror", lambda e: self.error(f"script: {str(e)[:300]}"))
                page.on("response", lambda r: r.status >= 500 and self.error(f"{r.status}: {r.url}"))
                page.goto(self.url, timeout=60_000)
                painted(page)
                weights, names, actions = zip(*self.steps, strict=True)
                until = time.monotonic() + seconds
                while True:
                    i = self.rng.choices(range(len(actions)), weights)[0]
                    self.last.append(f"{names[i]} on {page.url.rpartition('/')[2] or 'the first page'}")
                    try:
                        actions[i](page)
                        with self._lock:
                            self.report.actions[names[i]] += 1
                    except Error as error:  # Playwright's: gone, covered, disabled
                        with self._lock:
                            self.report.missed[f"{names[i]}: {str(error).splitlines()[0][:80]}"] += 1
                    page.wait_for_timeout(self.rng.uniform(100, 1500))
                    with contextlib.suppress(Error):  # a page that is just loaded anew
                        for text in page.evaluate(TROUBLE):
                            self.error(text[:300])
                    if time.monotonic() > until:
                        break
                page.goto(self.url, timeout=60_000)  # it is alive, and still answers a slider
                settled(page)
                browser.close()
        except Exception as error:
            self.error(f"the walk ended: {type(error).__name__}: {str(error)[:300]}")

    def console(self, kind: str, text: str) -> None:
        if (
            kind == "error" and "404" not in text and "when disconnected" not in text
        ):  # Streamlit looks for its own files below a page's address first; a clock may strike while a page reloads
            self.error(f"console: {text[:300]}")

    def error(self, text: str) -> None:
        if text in self._told:  # a broken page says it again and again
            return
        self._told.add(text)
        found = f"{time.strftime('%H:%M:%S')} {self.name}: {text} (after: {'; '.join(self.last)})"
        with self._lock:
            self.report.errors.append(found)
        self._say(found)

    # -- what a user does ------------------------------------------------------------------------

    def link(self, page: Any, name: str) -> None:
        page.get_by_role("link", name=name, exact=True).first.click()

    def open(self, page: Any, name: str) -> None:
        """Go to a page and let it come to rest, as one does who has something to do there."""
        self.link(page, name)
        settled(page)

    def page(self, page: Any) -> None:
        self.link(page, self.rng.choice(PAGES))

    def slider(self, page: Any) -> None:
        sliders = page.locator("input[type=range]:visible")
        count = sliders.count()
        if not count:
            return self.link(page, "Compare")
        slider = sliders.nth(self.rng.randrange(count))
        slider.focus()
        for _ in range(self.rng.randint(1, 6)):
            page.keyboard.press(self.rng.choice(["ArrowLeft", "ArrowRight"]))

    def number(self, page: Any) -> None:
        boxes = page.locator("input[type=number]:visible")
        count = boxes.count()
        if not count:
            return self.link(page, "Compare")
        box = boxes.nth(self.rng.randrange(count))
        highest = min(float(box.get_attribute("max") or 100), 2000.0)  # no fit of a quarter of an hour
        value = self.rng.choice(
            ["", "0.5", "1", "2", "3", f"{self.rng.uniform(0, highest):.2f}", "-1", "1e9"]
        )
        box.fill(value, timeout=WAIT)
        box.press("Enter")

    def mechanism(self, page: Any) -> None:
        self.open(page, "Compare")
        box = page.get_by_role("combobox", name="Mechanisms")
        box.click()
        options = page.get_by_role("option")
        options.first.wait_for()
        options.nth(self.rng.randrange(options.count())).click()
        page.keyboard.press("Escape")
        remove = page.get_by_role("button", name="Clear values")
        if self.rng.random() < 0.2 and remove.count():
            remove.first.click()

    def cancel(self, page: Any) -> None:
        for name in ("Cancel", "Stop", "Run again", "Go on"):
            button = page.get_by_role("button", name=name, exact=True)
            if button.count():
                return button.first.click()

    def map(self, page: Any) -> None:
        self.open(page, "Find settings")
        steps = page.get_by_label("steps", exact=True)
        steps.first.wait_for()
        for i in range(min(2, steps.count())):
            steps.nth(i).fill("2")
            steps.nth(i).press("Enter")
            page.wait_for_timeout(500)
        page.get_by_role("button", name="Fill the map").first.click()

    def reload(self, page: Any) -> None:
        page.reload(timeout=60_000)

    def example(self, page: Any) -> None:
        self.open(page, "Data")
        page.get_by_role("tab", name="Example").first.click()
        page.get_by_role("combobox", name="Example").click()
        page.get_by_role("option").nth(self.rng.randrange(4)).click()
        page.wait_for_timeout(500)
        rows = page.get_by_label("Records", exact=True)
        if rows.count() and rows.first.get_attribute("type") == "number":
            rows.first.fill(str(self.rng.choice([50, 200, 400])))
            rows.first.press("Enter")
            page.wait_for_timeout(500)
        page.get_by_role("button", name="Use this example").click()

    def upload(self, page: Any) -> None:
        rows = self.rng.choice([5, 60, 300])
        lines = [f"{self.rng.lognormvariate(3, 1):.2f},{self.rng.randint(1, 4)}" for _ in range(rows)]
        if self.rng.random() < 0.2:
            lines.insert(1, "not a number,x")
        self.file.write_text("pay,grade\n" + "\n".join(lines))
        self.open(page, "Data")
        page.get_by_role("tab", name="Your file").click()
        page.get_by_test_id("stTabs").locator("input[type=file]").set_input_files(self.file)

    def check_fit(self, page: Any) -> None:
        self.open(page, "Data")
        button = page.get_by_role("button", name="Check the fit")
        if button.count():
            button.first.click()

    def undo(self, page: Any) -> None:
        button = page.get_by_role("button", name="Undo")
        if button.count() and button.first.is_enabled():
            button.first.click()


class Watch:
    """Looks at the server's process tree, and remembers who was ever in it."""

    def __init__(self, pid: int, report: Report, say: Callable[[str], None]):
        self._server, self._report, self._say = psutil.Process(pid), report, say
        self._seen: dict[int, float] = {}
        self._started, self._told = time.monotonic(), -1

    def look(self) -> None:
        sizes = {}
        for process in [self._server, *self._server.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                self._seen[process.pid] = process.create_time()
                sizes[process.pid] = process.memory_info().rss
        minute = (time.monotonic() - self._started) / 60
        if int(minute) > self._told:
            self._told = int(minute)
            server, tree = sizes.get(self._server.pid, 0), sum(sizes.values())
            self._report.memory.append((minute, server, tree))
            actions, errors = self._report.actions.total(), len(self._report.errors)
            self._say(
                f"minute {self._told:3d}: server {server / 1024**2:6.0f} MiB, with workers {tree / 1024**2:6.0f} MiB, "
                f"{len(sizes):2d} processes, {actions:5,} actions, {errors} errors"
            )

    def alive(self) -> list[str]:
        """Those of the tree that still run."""
        found = []
        for pid, created in self._seen.items():
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                if process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"process {pid} {process.name()}")
        return found


def soak(minutes: float, browsers: int, seed: int, say: Callable[[str], None] = print) -> Report:
    """Random use of a server of its own; see the module. The same seed walks the same walk, but for timing."""
    report, lock = Report(), threading.Lock()
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    directory = Path(tempfile.mkdtemp(prefix="soak-", dir=base))
    temporary = directory / "tmp"
    temporary.mkdir()
    try:
        server = Server(
            str(directory / "results"), SYNTH_STATE_DIR=str(directory / "state"), TMPDIR=str(temporary)
        )
        try:
            watch = Watch(server.process.pid, report, say)
            started = time.monotonic()
            walks = [Walk(server.url, 100 * seed + i, directory, report, lock, say) for i in range(browsers)]
            threads = [threading.Thread(target=w.run, args=(60 * minutes,), daemon=True) for w in walks]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                watch.look()
                time.sleep(1.0)
            report.minutes = (time.monotonic() - started) / 60
            watch.look()
            if server.process.poll() is not None:
                report.errors.append("the server ended")
            server.log.flush()
            text = Path(server.log.name).read_text(errors="replace")
            report.errors += [f"server log: {line[:300]}" for line in text.splitlines() if "page failed" in line
                              or "Traceback" in line]  # fmt: skip
        finally:
            server.stop()
        deadline = time.monotonic() + 10
        while (left := watch.alive()) and time.monotonic() < deadline:
            time.sleep(0.1)
        report.orphans = left
        report.left_files = [str(p.relative_to(directory)) for p in temporary.rglob("*")]
        report.left_files += [p.name for p in (directory / "results").rglob("*.tmp")]
        report.cache_bytes = sum(p.stat().st_size for p in (directory / "results").rglob("*") if p.is_file())
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return report
