// A page whose script failed is taken down whole by Streamlit and stays blank: it is loaded anew, with all that was
// chosen. Not twice within ten seconds: a page that fails at once would be loaded for ever.
addEventListener('error', () => setTimeout(() => {
  const root = document.getElementById('root');
  if (!root || root.childElementCount) return;
  const last = Number(sessionStorage.getItem('synth-blank') ?? 0);
  if (Date.now() - last < 10_000) return;
  sessionStorage.setItem('synth-blank', String(Date.now()));
  location.reload();
}, 500));
