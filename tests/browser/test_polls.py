"""What a poll shows stays where it is, also when the poll begins the whole page anew."""

import pytest

from tests.browser.conftest import Server

pytestmark = [pytest.mark.browser]


def test_a_polled_part_is_mounted_once(chromium, tmp_path):
    server = Server(str(tmp_path), app="tests/browser/polled_app.py")
    page = chromium.new_page()
    try:
        page.goto(server.url)
        page.wait_for_function("() => window.drawn > 25 || window.mounted > 1")
        assert page.evaluate("window.mounted") == 1
    finally:
        page.close()
        server.stop()
