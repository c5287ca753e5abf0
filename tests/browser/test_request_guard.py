"""Another page in the same browser, another host's name and a stolen cookie do not get in."""

import http.server
import threading

import pytest

from tests.browser.conftest import CHROMIUM, FLAGS, settled, use_beta
from tests.support.stream import visit

pytestmark = [pytest.mark.browser, pytest.mark.stan]

TABLE = b"200 complete rows"
ATTACK = """<!doctype html><title>quiet</title><script>
window.found = {};
const done = (name, what) => { window.found[name] = what; };
const socket = new WebSocket('ws://HERE/_stcore/stream', ['streamlit']);
socket.onopen = () => done('socket', 'open');
socket.onerror = () => done('socket', 'refused');
fetch('http://HERE/', { credentials: 'include' }).then((r) => r.text()).then(
  (t) => done('fetch', t), () => done('fetch', 'refused'));
const script = document.createElement('script');
script.onload = () => done('script', 'loaded');
script.onerror = () => done('script', 'refused');
script.src = 'http://HERE/assets/plotly.min.js';
document.head.append(script);
const frame = document.createElement('iframe');
frame.src = 'http://HERE/';
frame.onload = () => done('frame', 'shown');
document.documentElement.append(frame);
</script>"""


@pytest.fixture
def elsewhere(server):
    """A page on another port of the same host."""
    here = server.url.removeprefix("http://")

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(ATTACK.replace("HERE", here).encode())

        def log_message(self, *args):
            pass

    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{other.server_port}/"
    other.shutdown()
    other.server_close()


def test_a_page_on_another_port_reads_nothing(new_page, elsewhere, server):
    page = new_page("/data")
    use_beta(page, 200)
    attacker = page.context.new_page()
    attacker.goto(elsewhere)
    attacker.wait_for_function("() => Object.keys(window.found).length >= 4")
    assert attacker.evaluate("() => window.found") | {"frame": ""} == {
        "socket": "refused",
        "fetch": "refused",
        "script": "refused",
        "frame": "",
    }
    framed = [frame for frame in attacker.frames if frame.url.startswith(server.url)]
    assert all("stApp" not in frame.content() for frame in framed)
    opened = attacker.evaluate(
        "here => { window.other = window.open(here); return !!window.other; }", server.url
    )
    assert opened
    attacker.wait_for_timeout(500)
    assert attacker.evaluate(
        "() => { try { return window.other.closed || !window.other.document; } catch { return true; } }"
    )


def test_only_the_key_opens_a_browsers_table(new_page, server):
    page = new_page("/data")
    use_beta(page, 200)
    settled(page)
    key = page.evaluate("() => localStorage.getItem('synth-key')")
    cookies = "; ".join(f"{c['name']}={c['value']}" for c in page.context.cookies())
    own = server.url
    assert TABLE in visit(own, origin=own, key=key, page="data")
    replayed = visit(own, origin=own, headers={"Cookie": cookies, "x-synth-browser": key}, page="data")
    assert replayed is not None and TABLE not in replayed
    for origin in (None, "http://127.0.0.1:1", own.replace("127.0.0.1", "localhost"), "null"):
        assert visit(own, origin=origin, key=key, page="data") is None
    port = own.rpartition(":")[2]
    for host in (f"evil.example:{port}", f"127.0.0.1.nip.example:{port}"):
        assert visit(own, origin=f"http://{host}", host=host, key=key, page="data") is None


def test_a_name_that_was_pointed_at_this_computer_gets_no_page(chromium, server):
    port = server.url.rpartition(":")[2]
    browser = chromium.browser_type.launch(
        executable_path=CHROMIUM, args=[*FLAGS, "--host-resolver-rules=MAP evil.example 127.0.0.1"]
    )
    try:
        page = browser.new_page()
        answer = page.goto(f"http://evil.example:{port}/")
        assert answer.status == 403
        assert "SYNTH_ORIGINS" in page.content()
    finally:
        browser.close()
