"""A part of a page that is refreshed every so often, and stays where it is while the whole page is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ParamSpec

import streamlit as st

P = ParamSpec("P")

DELIVERY_SECONDS = 0.05  # ten times as long as Streamlit waits between two deliveries to a browser


def poll(part: Callable[P, None], seconds: float | None, *args: P.args, **kwargs: P.kwargs) -> None:
    """Show a part of a page, and refresh it every so many seconds; never with None.

    A refresh that was asked for meanwhile begins as soon as the page is drawn. Streamlit then drops what of this part
    has not been sent yet, but not the word that the page is complete: the browser would take the part away, and mount
    it anew. So it is waited until it has been sent.
    """
    st.fragment(part, run_every=seconds)(*args, **kwargs)
    time.sleep(DELIVERY_SECONDS)
