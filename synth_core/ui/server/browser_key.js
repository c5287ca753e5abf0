// A random key of this browser, kept for this origin alone (a cookie would go to every port of the host), and sent
// with the connection. Without storage there is none, and a session stands for its browser.
(() => {
  const NAME = 'synth-key';
  let key = null;
  try {
    key = localStorage.getItem(NAME);
    if (!/^[A-Za-z0-9_-]{43}$/.test(key ?? '')) {
      const bytes = crypto.getRandomValues(new Uint8Array(32));
      key = btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
      localStorage.setItem(NAME, key);
    }
  } catch {
    return;
  }
  const Plain = window.WebSocket;
  window.WebSocket = class extends Plain {
    constructor(address, protocols = []) {
      const own = new URL(address, location.href).host === location.host;
      super(address, own ? [...[protocols].flat(), `synth.${key}`] : protocols);
    }
  };
})();
