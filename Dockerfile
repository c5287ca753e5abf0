# Untested: written where no container engine was at hand. See docs/operate/deploy.md.
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ make && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home synth && install -d -m 700 -o synth /app /home/synth/state /home/synth/cache
USER synth
WORKDIR /app
COPY --chown=synth requirements.txt .
RUN python -m venv /home/synth/venv && /home/synth/venv/bin/pip install --no-cache-dir -r requirements.txt "streamlit[auth]"
COPY --chown=synth . .
ENV PATH=/home/synth/venv/bin:$PATH SYNTH_STATE_DIR=/home/synth/state SYNTH_CACHE_DIR=/home/synth/cache
RUN python -m synth_core setup
EXPOSE 8501
# All addresses of the container; publish the port to loopback only.
CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.port", "8501"]
