"""Entry point: `streamlit run app.py`. The page list and the frame; nothing is computed here."""

import streamlit as st

from synth_core.ui import frame
from synth_core.ui.compare import scenarios
from synth_core.ui.server import http, lifespan
from synth_core.ui.shared import tour

if __name__ == "__main__":  # a browser session runs this file as a script
    asked = frame.asked_page()
    st.set_page_config(page_title="Private synthesis", page_icon=frame.ICON, layout="wide")
    st.html(frame.STYLE)
    frame.require_login()
    frame.prepare_session()
    page = frame.navigate(  # in the order of the work; a newcomer starts with a picture
        [
            st.Page("pages/data.py", title="Data", icon=":material/table:", url_path="data"),
            st.Page(
                "pages/compare.py",
                title="Compare",
                icon=":material/compare_arrows:",
                url_path="compare",
                default=True,
            ),
            st.Page(
                "pages/find_settings.py",
                title="Find settings",
                icon=":material/target:",
                url_path="find_settings",
            ),
            st.Page(
                "pages/robustness.py", title="Robustness", icon=":material/science:", url_path="robustness"
            ),
            st.Page("pages/release.py", title="Release", icon=":material/outbox:", url_path="release"),
            st.Page("pages/help.py", title="Help", icon=":material/help:", url_path="help"),
        ],
        asked,
    )
    tour.show(page)
    if page.url_path:  # Compare, the default page, has none
        scenarios.end_presenting()
    frame.show_header()
    frame.run(page)
else:  # the web server imports it
    app = st.App(
        __file__,
        lifespan=lifespan.lifespan,
        routes=http.routes(),
        middleware=http.middleware(),
        on_script_error=frame.hide_error,
    )
