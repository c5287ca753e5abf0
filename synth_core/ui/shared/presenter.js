// Presenter mode: the board alone over the whole window, in large type. Keys step through scenarios and figures.

const SMALLEST = 18;  // px, to be read from the last row
const ON_A_PHONE = 12;  // held in the hand
const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };  // the latter two of each: a remote control
const END = 2;  // beside the steps: what was seen before the first of them comes back
const OPENS = '.st-key-present button';
const HELP = '← → scenario   ↑ ↓ figure   F four figures   Space plays a setting   Esc ends';

function stageParts(state) {
  const bar = element('header', { class: 'stage-bar' }, [
    element('h2', { class: 'stage-title' }), element('p', { class: 'stage-line' }),
    element('p', { class: 'stage-note' })]);
  const close = element('button', { type: 'button', class: 'stage-close', text: 'End' });
  close.onclick = () => leave(state);
  const foot = element('footer', { class: 'stage-foot' }, [
    element('span', { class: 'stage-place' }), element('span', { class: 'stage-keys', text: HELP }), close]);
  state.stageParts = { bar, foot };
  state.figureAt = 0;
  state.onKey = (event) => onKey(state, event);
  document.addEventListener('keydown', state.onKey);
  state.onFullscreen = () => { if (!document.fullscreenElement && state.wasFullscreen) leave(state); };
  document.addEventListener('fullscreenchange', state.onFullscreen);
  state.onResize = () => {
    if (!state.presenting) return;
    if (window.Plotly) draw(state);
    shorten(state);
  };
  window.addEventListener('resize', state.onResize);
  // A button of the page, so that it stands among its others; here, at once, and in the click that full screen asks for.
  state.onClick = (event) => { if (event.target.closest?.(OPENS)) present(state); };
  document.addEventListener('click', state.onClick);
  return [bar, foot];
}

function forgetStage(state) {
  state.hasStepped = false;  // the page that follows sees to it
  leave(state);
  document.removeEventListener('keydown', state.onKey);
  document.removeEventListener('click', state.onClick);
  document.removeEventListener('fullscreenchange', state.onFullscreen);
  window.removeEventListener('resize', state.onResize);
}

// What stands above and below the figures; on a page without a stage there is no presentation.
function tellStage(state, stage, stale) {
  state.stage = stage;
  if (stage && state.presenting) writeStage(state);
  state.stageParts.foot.querySelector('.stage-place').textContent = stale ? 'Refitting …' : '';
}

// Only while it is seen: the words stand in the page's own header too.
function writeStage({ stage, stageParts: { bar } }) {
  const at = stage.names.indexOf(stage.name);
  const more = stage.names.length > 1 && at >= 0 ? ` (${at + 1} of ${stage.names.length})` : '';
  bar.querySelector('.stage-title').textContent = stage.name ? `${stage.name}${more}` : stage.title;
  bar.querySelector('.stage-line').textContent = stage.line;
  bar.querySelector('.stage-note').textContent = [stage.note, stage.rule].filter(Boolean).join(' · ');
}

function present(state) {
  if (state.presenting || !state.stage || !state.figures.length) return;
  state.presenting = true;
  state.root.classList.add('presenting');
  writeStage(state);
  state.root.setAttribute('role', 'dialog');
  state.root.setAttribute('aria-modal', 'true');
  state.root.setAttribute('aria-label', 'Presentation');
  state.root.tabIndex = -1;
  state.root.popover = 'manual';
  raise(state);
  state.keepIn = (event) => { if (!state.root.contains(event.target)) state.root.focus(); };
  document.addEventListener('focusin', state.keepIn);
  document.documentElement.requestFullscreen?.().then(() => { state.wasFullscreen = true; raise(state); }, () => {});
  arrange(state);
}

// To the top layer's end, whatever the page stacks: full screen puts the page itself there, above what came before.
function raise(state) {
  if (!state.presenting) return;
  if (state.root.matches(':popover-open')) state.root.hidePopover();
  state.root.showPopover();
  state.root.focus();
}

// The server shows other choices from now on; those of before come back at the end.
function stepBy(state, by) {
  state.hasStepped = true;
  state.stepped(by);
}

function leave(state) {
  if (!state.presenting) return;
  state.presenting = false;
  for (const part of state.stageParts.bar.children) part.textContent = '';
  document.removeEventListener('focusin', state.keepIn);
  if (state.root.matches(':popover-open')) state.root.hidePopover();
  for (const name of ['popover', 'role', 'aria-modal', 'aria-label', 'tabindex']) state.root.removeAttribute(name);
  state.root.classList.remove('presenting', 'four');
  if (state.wasFullscreen && document.fullscreenElement) document.exitFullscreen();
  state.wasFullscreen = false;
  arrange(state);
  if (state.hasStepped) state.stepped(END);
  state.hasStepped = false;
  document.querySelector(OPENS)?.focus();
}

// Which figures are seen: one, or all.
function arrange(state) {
  const four = state.presenting && state.four;
  state.root.classList.toggle('four', Boolean(four));
  const cards = [...state.cards.values()];
  state.figureAt = Math.min(state.figureAt, Math.max(0, cards.length - 1));
  cards.forEach((made, i) => made.card.classList.toggle('off', Boolean(state.presenting && !four && i !== state.figureAt)));
  if (window.Plotly) draw(state);
  for (const made of cards) resize(made);
  shorten(state);
}

// Rows that have no room lose their sentences first, then their reasons: no line is cut, and no row is missing.
function shorten({ root, presenting }) {
  const top = root.querySelector('.top');
  root.classList.remove('crowded', 'packed');
  for (const level of ['crowded', 'packed']) {
    if (presenting && top.scrollHeight > top.clientHeight + 1) root.classList.add(level);
  }
}

function onKey(state, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (!state.presenting) {
    const writing = event.target.closest?.('input, textarea, select, [contenteditable], [role=listbox], [role=combobox]');
    if (event.key.toLowerCase() === 'p' && !writing && state.stage && !event.shiftKey) present(state);
    return;
  }
  const count = state.cards.size;
  if (event.key === 'Escape') leave(state);
  else if (event.key in STEPS) {
    if (state.stage.stops > 1) stepBy(state, STEPS[event.key]);
  } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    state.four = false;
    state.figureAt = (state.figureAt + (event.key === 'ArrowDown' ? 1 : count - 1)) % count;
    arrange(state);
  } else if (event.key === ' ' && event.target.tagName !== 'BUTTON') {
    stepBy(state, 0);
  } else if (event.key.toLowerCase() === 'f') {
    state.four = !state.four;
    arrange(state);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

// The same layout with no text below the smallest size; margins follow the texts.
function enlarged(layout, size) {
  const grown = (value) => {
    if (Array.isArray(value)) return value.map(grown);
    if (!value || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => {
      const larger = /font$/.test(name) && part && typeof part === 'object';
      return [name, larger ? { ...part, size: Math.max(size, part.size ?? 0) } : grown(part)];
    }));
  };
  const found = grown(layout);
  found.font = { ...found.font, size };
  for (const [name, axis] of Object.entries(found)) {
    if (!/^[xy]axis/.test(name)) continue;
    found[name] = { ...axis, title: { ...axis.title, font: { size } }, ...(axis.tickangle === 0 ? { tickangle: 'auto' } : {}) };
  }
  const above = (layout.margin?.t ?? 0) * size / 12;  // what is written there grows too
  found.margin = { l: size, r: size, t: Math.max(size / 2, above), b: size };
  return found;
}

// A scale of colors grows with what is written beside it.
function longerScales(traces, size) {
  return traces.map((each) => (each.colorbar ? { ...each, colorbar: { ...each.colorbar, len: each.colorbar.len * size / 12 } } : each));
}

function stageSize() {
  if (window.innerWidth <= 700) return ON_A_PHONE;
  return Math.max(SMALLEST, Math.min(0.0115 * window.innerWidth, 0.0205 * window.innerHeight));
}
