"""Entry point: `streamlit run app.py`. The page list and the frame; nothing is computed here."""

import streamlit as st

from synth_core.ui import frame
from synth_core.ui.server import http, lifespan
from synth_core.ui.shared import tour

if __name__ == "__main__":  # a browser session runs this file as a script
    st.set_page_config(page_title="Private synthesis", page_icon=frame.ICON, layout="wide")
    st.html(frame.STYLE)
    frame.require_login()
    frame.prepare_session()
    page = st.navigation(
        [
            st.Page("pages/data.py", title="Data", icon=":material/table:", url_path="data"),
            st.Page(
                "pages/own_program.py",
                title="Own program",
                icon=":material/code:",
                url_path="own_program",
            ),
            st.Page(
                "pages/model_check.py",
                title="Model check",
                icon=":material/fact_check:",
                url_path="model_check",
            ),
            st.Page(
                "pages/ranges.py", title="Sensitive ranges", icon=":material/straighten:", url_path="ranges"
            ),
            st.Page(
                "pages/compare.py",
                title="Compare",
                icon=":material/compare_arrows:",
                url_path="compare",
                default=True,
            ),
            st.Page("pages/explore.py", title="Explore", icon=":material/scatter_plot:", url_path="explore"),
            st.Page("pages/studies.py", title="Studies", icon=":material/science:", url_path="studies"),
            st.Page("pages/release.py", title="Release", icon=":material/outbox:", url_path="release"),
            st.Page("pages/methods.py", title="Methods", icon=":material/menu_book:", url_path="methods"),
        ],
        position="top",
    )
    tour.show()
    frame.run(page)
else:  # the web server imports it
    app = st.App(
        __file__,
        lifespan=lifespan.lifespan,
        routes=http.routes(),
        middleware=http.middleware(),
        on_script_error=frame.hide_error,
    )
