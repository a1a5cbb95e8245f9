"""Entry: for the server the app behind its edge, for every session the navigation. `make run` or `crosslight app`."""

import streamlit as st

if __name__ == "__main__":  # a session; the server imports this module by its name
    from app.server import imports

    imports.import_alone(*imports.SESSION)
    from app.server import login
    from app.train import view
    from explainers.installation import ASSETS

    projected = st.query_params.get("large") == "true"
    st.set_page_config(
        page_title="Crosslight",
        page_icon=ASSETS / "icon.png",
        layout="wide",
        initial_sidebar_state="collapsed" if projected else "auto",
    )
    st.logo(ASSETS / "logo.svg")
    login.require_login()
    page = st.navigation(
        [
            st.Page("pages/compare.py", title="Compare", default=True),
            st.Page("pages/annotate.py", title="Annotate", url_path="annotate"),
            st.Page("pages/reading.py", title="Reading", url_path="reading"),
            st.Page("pages/evaluate.py", title="Evaluate", url_path="evaluate"),
            st.Page("pages/interventions.py", title="Interventions", url_path="interventions"),
            st.Page("pages/train.py", title="Train", url_path="train"),
            st.Page("pages/methods.py", title="Methods", url_path="methods"),
        ],
        position="top",
    )
    imports.import_alone(*imports.PAGES[page.url_path])
    page.run()
    view.resume_watching()
else:
    from app import streamlit_shims
    from app.server import edge, lifetime
    from explainers.installation import limit_spinning

    limit_spinning()
    streamlit_shims.keep_page_changes()
    streamlit_shims.deliver_finished_runs()

    app = st.App(__file__, middleware=edge.middleware(), lifespan=lifetime.lifespan)
