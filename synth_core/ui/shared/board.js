// Results table and figures in one component. Plotly.react updates the figures in place:
// the DOM nodes stay, so zoom is kept and nothing flashes.

function plotly(url) {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  if (!window.synthPlotly) {
    window.synthPlotly = new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = url;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error('plotly.js did not load'));
      document.head.appendChild(script);
    });
  }
  return window.synthPlotly;
}

// Text goes in through textContent only: column names come from a user's file.
function element(tag, attributes = {}, children = []) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') node.textContent = value;
    else if (name === 'style') node.style.cssText = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function table(columns, rows, caption) {
  return element('table', {}, [
    element('caption', { text: caption, style: 'text-align:left;font-size:.75rem;opacity:.8' }),
    element('thead', {}, [element('tr', {}, columns.map((c) => element('th', { text: c, scope: 'col' })))]),
    element('tbody', {}, rows.map((r) => element('tr', {}, r.map((c) => element('td', { text: c }))))),
  ]);
}

const COLUMNS = [['epsilon', 'ε'], ['guarantee', 'Guarantee'], ['delta', 'Δ (nats)'],
  ['ecdf_max', 'ECDF maximum'], ['ecdf_avg', 'ECDF average'], ['worst', 'Largest error'],
  ['match', 'Match risk']];
const NOTES = {
  delta: 'The largest weighted log-likelihood; ε is twice as large. Local: how far one record’s leaving changes the '
    + 'posterior over the draws, whatever the unit, its effect on the weights of others included where it is known. '
    + 'No guarantee.',
  match: 'Rests on an assumed intruder: the share of records that one who knows the predictors and the value up to '
    + 'the radius identifies by a random pick among the matches. No guarantee.',
};

function resultRow(row) {
  const badge = element('button', { class: `badge s${row.guarantee.strength}`, type: 'button', 'aria-expanded': 'false',
    text: row.guarantee.label, title: 'What is promised, about whom, what not' });
  const cells = COLUMNS.map(([name]) => {
    if (name === 'guarantee') return element('td', {}, [badge]);
    const cell = row.cells[name];
    const td = element('td', { class: `${name} rank${cell.rank}`, text: cell.text });
    if (cell.beside) td.append(element('span', { class: 'beside', text: ` ${cell.beside}` }));
    if (cell.rank) td.title = cell.rank === 1 ? 'best of the column' : 'second best of the column';
    return td;
  });
  const name = element('th', { scope: 'row' }, [
    element('span', { class: 'swatch', style: `background:${row.color}` }), row.label]);
  const more = element('tr', { class: 'more', hidden: '' }, [element('td', { colspan: COLUMNS.length + 1 },
    row.guarantee.lines.map((line) => element('p', { text: line })))]);
  badge.onclick = () => {
    more.hidden = !more.hidden;
    badge.setAttribute('aria-expanded', String(!more.hidden));
  };
  const hints = row.hints.map((hint) => element('tr', {}, [
    element('td', { colspan: COLUMNS.length + 1, class: 'problem', text: `⚠ ${row.label}: ${hint}` })]));
  return [element('tr', {}, [name, ...cells]), more, ...hints];
}

function resultTable(state, rows) {
  const { by, down } = state.sort;
  const key = (r) => (by === 'guarantee' ? -r.guarantee.strength : r.cells[by].sort ?? Infinity);
  const sorted = by ? [...rows].sort((a, b) => (key(a) - key(b)) * (down ? -1 : 1)) : rows;
  const head = COLUMNS.map(([name, text]) => {
    const button = element('button', { type: 'button', class: 'sort', text, title: NOTES[name] ?? `Sort by ${text}` });
    button.onclick = () => {
      state.sort = { by: name, down: by === name && !down };
      state.root.querySelector('.top').replaceChildren(resultTable(state, rows));
    };
    const order = by === name ? (down ? 'descending' : 'ascending') : 'none';
    return element('th', { scope: 'col', 'aria-sort': order }, [button]);
  });
  return element('table', { class: rows.length > 3 ? 'headline dense' : 'headline' }, [
    element('thead', {}, [element('tr', {}, [element('th', { scope: 'col', text: 'Mechanism' }), ...head])]),
    element('tbody', {}, sorted.flatMap(resultRow)),
  ]);
}

function makeCard(figure) {
  // Not role img: the buttons inside, which plotly makes, would be hidden from a screen reader.
  const plot = element('div', { class: 'plot', role: 'figure' });
  const data = element('div', { class: 'data', hidden: '', tabindex: '0' });
  const button = element('button', { class: 'show', type: 'button', text: 'Table',
    'aria-pressed': 'false', 'aria-label': `${figure.title}: show as a table` });
  button.onclick = () => {
    data.hidden = !data.hidden;
    plot.hidden = !data.hidden;
    button.textContent = data.hidden ? 'Table' : 'Figure';
    button.setAttribute('aria-pressed', String(!data.hidden));
    if (data.hidden && window.Plotly) window.Plotly.Plots.resize(plot);
  };
  const card = element('section', { class: 'card', 'data-figure': figure.key }, [
    element('header', {}, [element('h3', { text: figure.title }),
      element('span', { class: 'tag', title: 'Shows confidential values: must not leave', text: figure.tag }),
      button]),
    element('p', { class: 'reading', text: figure.reading }), plot, data]);
  return { card, plot, data, size: new ResizeObserver(() => {
    if (window.Plotly && plot.data && !plot.hidden) window.Plotly.Plots.resize(plot);
  }) };
}

function themed(value, colors) {
  if (typeof value === 'string') return colors[value] ?? value;
  if (Array.isArray(value)) return value.length && typeof value[0] === 'number' ? value : value.map((v) => themed(v, colors));
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, themed(v, colors)]));
  }
  return value;
}

function draw(state) {
  const css = getComputedStyle(state.root);
  const text = css.getPropertyValue('--st-text-color').trim() || '#1b2430';
  const grid = css.getPropertyValue('--st-border-color').trim() || '#cccccc';
  const colors = { '@text': text, '@faint': 'rgba(128,136,148,0.28)' };
  state.theme = text + grid;
  for (const figure of state.figures) {
    const card = state.cards.get(figure.key);
    const layout = themed(figure.layout, colors);
    layout.paper_bgcolor = layout.plot_bgcolor = 'rgba(0,0,0,0)';
    layout.font = { color: text, size: figure.height ? 14 : 12, family: css.fontFamily };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) layout[name] = { gridcolor: grid, linecolor: grid, zerolinecolor: text, zerolinewidth: 1, ...layout[name] };
    }
    card.plot.setAttribute('aria-label', `${figure.title}. ${figure.alt}`);
    window.Plotly.react(card.plot, themed(figure.traces, colors), layout,
      // Named one by one: plotly.js also has buttons that send a chart to its makers.
      { displaylogo: false, responsive: false, displayModeBar: 'hover',
        modeBarButtons: [['zoom2d', 'pan2d', 'resetScale2d', 'toImage']] });
    if (!card.listening) {
      card.listening = true;
      card.plot.on('plotly_click', (event) => {
        // A dot says in its customdata what it stands for: a record's number, or "pick:" and a name.
        const picked = event.points.map((p) => p.customdata)
          .find((c) => (Number.isInteger(c) && c > 0) || (typeof c === 'string' && c.startsWith('pick:')));
        if (picked) state.clicked(typeof picked === 'string' ? picked.slice(5) : picked);
      });
    }
  }
  state.root.dataset.painted = state.version;
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector('.board');
  let state = root.synthState;
  if (!state) {
    state = { root, cards: new Map(), figures: [], sort: {} };
    root.synthState = state;
    root.append(element('div', { class: 'top' }), element('div', { class: 'cards' }));
    state.watch = setInterval(() => {  // the theme can change without a rerun
      const css = getComputedStyle(root);
      const now = (css.getPropertyValue('--st-text-color').trim() || '#1b2430')
        + (css.getPropertyValue('--st-border-color').trim() || '#cccccc');
      if (window.Plotly && state.theme && now !== state.theme) draw(state);
    }, 700);
  }
  state.clicked = (what) => setTriggerValue('clicked', what);
  root.classList.toggle('stale', data.stale);
  root.setAttribute('aria-busy', String(data.stale));
  if (state.version !== data.version && !data.figures) {
    if (state.lacks !== data.version) {
      state.lacks = data.version;
      setTriggerValue('lacks', data.version);
    }
  } else if (state.version !== data.version) {
    state.lacks = undefined;
    state.version = data.version;
    state.figures = data.figures;
    root.querySelector('.top').replaceChildren(...(data.results.length ? [resultTable(state, data.results)] : []));
    const wanted = new Set(data.figures.map((f) => f.key));
    for (const [key, card] of state.cards) {
      if (!wanted.has(key)) { card.card.remove(); card.size.disconnect(); state.cards.delete(key); }
    }
    for (const figure of data.figures) {
      if (!state.cards.has(figure.key)) {
        const card = makeCard(figure);
        state.cards.set(figure.key, card);
        root.querySelector('.cards').append(card.card);
        card.size.observe(card.plot);
      }
      const card = state.cards.get(figure.key);
      if (figure.height) card.plot.style.height = card.data.style.height = `${figure.height}px`;
      card.card.querySelector('h3').textContent = figure.title;
      card.card.querySelector('.reading').textContent = figure.reading;
      card.data.replaceChildren(table(figure.table.columns, figure.table.rows, figure.reading));
    }
    plotly(data.plotly).then(() => draw(state));
  }
  return () => {
    clearInterval(state.watch);
    for (const card of state.cards.values()) {
      card.size.disconnect();
      if (window.Plotly) window.Plotly.purge(card.plot);
    }
    root.synthState = undefined;
    root.replaceChildren();
  };
}
