"""Arrays to figures: plain plotly dictionaries, no Streamlit."""
