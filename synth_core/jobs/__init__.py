"""Background jobs of the app: what can be asked, the queue, and what runs in a worker process.

Equal requests share one job, and workers end with the server. It may import `experiments` and the rooms below
it, never Streamlit.
"""
