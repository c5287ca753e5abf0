"""What the browser is sent: a picture once, of a size that does not grow with the table."""

import pytest

from tests.browser.conftest import follow, painted, settled, use_beta

pytestmark = pytest.mark.browser


@pytest.fixture
def watched(new_page):
    """A page on Data, and a counter of the bytes that its server sends."""
    page = new_page("/data")
    received = [0]
    page.on(
        "websocket",
        lambda socket: socket.on(
            "framereceived", lambda text: received.__setitem__(0, received[0] + len(text))
        ),
    )
    page.reload()
    settled(page)
    return page, received


def simulate(page, n):
    """Use the simulated example with n records, and see its picture."""
    use_beta(page, n)
    follow(page, "Compare")
    page.get_by_text(f"{n:,} records").first.wait_for()
    return painted(page)


@pytest.mark.long
def test_a_picture_is_as_large_for_many_records_as_for_few(watched):
    page, received = watched
    sizes = []
    for n in (2_000, 60_000):
        version = simulate(page, n)
        settled(page)
        before = received[0]
        page.locator("input[type=range]").first.press("ArrowLeft")
        painted(page, version)
        settled(page)
        sizes.append(received[0] - before)
        follow(page, "Data")
    # What it draws, once for each row that comes late; the values of 60,000 records would be 480,000 bytes a column.
    assert sizes[1] < min(460_000, 4 * sizes[0]), sizes


def test_a_picture_is_sent_once(watched):
    page, received = watched
    version = simulate(page, 2_000)
    settled(page)
    before = received[0]
    page.get_by_text("Diagnostics of the fits").click()  # a run that changes nothing in the picture
    page.get_by_text("Identification risk rests on").first.wait_for()
    settled(page)
    assert received[0] - before < 90_000  # the picture alone is about 60,000, what else a run sends 65,000
    assert painted(page) == version


@pytest.mark.long
def test_a_browser_that_lost_the_picture_gets_it_again(watched):
    page, _ = watched
    version = simulate(page, 2_000)
    settled(page)
    page.evaluate("""() => { const board = document.querySelector('.board');
        board.synthState.version = 'lost'; delete board.dataset.painted; }""")
    page.get_by_text("Diagnostics of the fits").click()  # the run sends the version only
    assert painted(page) == version
