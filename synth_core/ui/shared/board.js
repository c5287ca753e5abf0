// Results table and figures in one component. Plotly.react updates the figures in place:
// the DOM nodes stay, so zoom is kept and nothing flashes.

function plotly(url) {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  if (!window.synthPlotly) {
    window.synthPlotly = new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = url;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => {
        window.synthPlotly = undefined;  // the next picture tries again
        reject(new Error('plotly.js did not load'));
      };
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

// The mechanism's name, a button where there are several: it lifts the mechanism out of every figure.
function nameCell(state, row, several) {
  const parts = [element('span', { class: 'swatch', style: `background:${row.color}` }), row.label];
  if (!several || row.missing) return element('th', { scope: 'row' }, parts);
  const button = element('button', { class: 'name', type: 'button', title: `${row.plain ? `${row.plain}. ` : ''}Press to lift it out of the figures`,
    'aria-pressed': String(state.lifted === row.mechanism), 'data-mechanism': row.mechanism }, parts);
  button.onclick = () => lift(state, row.mechanism);
  return element('th', { scope: 'row' }, [button]);
}

// All other mechanisms turn faint; the same one again, and all are as before.
function lift(state, mechanism) {
  state.lifted = state.lifted === mechanism ? undefined : mechanism;
  for (const button of state.root.querySelectorAll('button.name')) {
    button.setAttribute('aria-pressed', String(button.dataset.mechanism === state.lifted));
  }
  if (window.Plotly) draw(state);
}

function lifted(state, traces) {
  if (!state.lifted || !traces.some((t) => t.meta === state.lifted)) return traces;
  return traces.map((t) => (t.meta === undefined || t.meta === state.lifted ? t : { ...t, opacity: 0.1 * (t.opacity ?? 1) }));
}

function resultRow(state, row, columns, several) {
  if (row.missing) {
    return [element('tr', { class: 'numbers' }, [nameCell(state, row, several),
      element('td', { colspan: columns.length + 1, class: 'missing', text: row.missing })])];
  }
  const badge = element('button', { class: `badge s${row.guarantee.strength}`, type: 'button', 'aria-expanded': 'false',
    text: row.guarantee.label, title: 'What is promised, about whom, what not' });
  const cells = columns.map(({ key: name, text: head }) => {
    if (name === 'guarantee') return element('td', {}, [badge]);
    if (name === 'verdict') {
      if (!row.verdict) return element('td', { class: 'verdict' });  // of older choices: not judged
      return element('td', { class: `verdict ${row.verdict.passed ? 'passed' : 'failed'}`, text: row.verdict.text });
    }
    const cell = row.cells[name];
    const td = element('td', { class: `${name} rank${cell.rank}`, text: cell.text, 'data-head': head });
    if (cell.beside) td.append(element('span', { class: 'beside', text: ` ${cell.beside}` }));
    if (cell.rank) td.title = `${cell.rank === 1 ? 'best' : 'second best'} of the column among those of this guarantee`;
    return td;
  });
  const words = element('tr', { class: 'words' }, [element('td', { colspan: columns.length + 2,
    'data-plain': row.plain ? `${row.plain[0].toUpperCase()}${row.plain.slice(1)}. ` : '' }, [
    element('span', { class: 'said' }, [
      ...(row.verdict?.reason ? [element('b', { text: `${row.verdict.reason}. ` })] : []), element('span', { class: 'sentence', text: row.sentence }),
      ...(row.difference ? [element('div', { class: 'difference', text: row.difference })] : [])])])]);
  const more = element('tr', { class: 'more', hidden: '' }, [element('td', { colspan: columns.length + 2 },
    row.guarantee.lines.map((line) => element('p', { text: line })))]);
  badge.onclick = () => {
    more.hidden = !more.hidden;
    badge.setAttribute('aria-expanded', String(!more.hidden));
  };
  const hints = row.hints.map((hint) => element('tr', {}, [
    element('td', { colspan: columns.length + 2, class: 'problem' }, [
      element('span', { class: 'said', text: `⚠ ${row.label}: ${hint}` })])]));
  const old = row.old ? ' old' : '', unfit = row.unfit ? ' unfit' : '';
  const parts = (state.parts ? row.parts ?? [] : []).map((part) => element('tr', { class: `part${unfit}` }, [
    element('th', { scope: 'row', text: part.label }), ...columns.map(({ key, text: head }) => element('td', { text: part.cells[key] ?? '', 'data-head': head })), element('td')]));
  words.className += old + (row.unfit ? ' warned' : '');  // it says what the numbers do not: not for use
  return [element('tr', { class: `numbers${old}${unfit}` }, [nameCell(state, row, several), ...cells, element('td')]), ...parts, words, more, ...hints];
}

function resultTable(state, rows) {
  const { by, down } = state.sort;
  const columns = state.columns.filter(({ key, detail }) => (!detail || state.details)
    && (key !== 'verdict' || rows.some((r) => r.verdict)));
  const keys = { guarantee: (r) => -r.guarantee.strength, verdict: (r) => (r.verdict ? Number(!r.verdict.passed) : 2) };
  const value = keys[by] ?? ((r) => r.cells[by].sort ?? Infinity);
  const key = (r) => (r.missing ? Infinity : value(r));  // with -Infinity it would come first when sorted down
  const sorted = by ? [...rows].sort((a, b) => (key(a) - key(b)) * (down ? -1 : 1)) : rows;
  const head = columns.map(({ key: name, text, title }) => {
    const button = element('button', { type: 'button', class: 'sort', text, title });
    button.onclick = () => {
      state.sort = { by: name, down: by === name && !down };
      state.root.querySelector('.top').replaceChildren(resultTable(state, rows));
    };
    const order = by === name ? (down ? 'descending' : 'ascending') : 'none';
    return element('th', { scope: 'col', 'aria-sort': order }, [button]);
  });
  const more = element('button', { type: 'button', class: 'sort', 'aria-pressed': String(Boolean(state.details)),
    text: state.details ? 'Fewer columns' : 'All columns', title: 'Δ and the distances of the distribution functions' });
  more.onclick = () => {
    state.details = !state.details;
    state.root.querySelector('.top').replaceChildren(resultTable(state, rows));
    state.root.querySelector('.headline thead th:last-child button').focus();
  };
  const buttons = [more];
  if (rows.some((r) => r.parts)) {
    const each = element('button', { type: 'button', class: 'sort', 'aria-pressed': String(Boolean(state.parts)),
      text: state.parts ? 'Fewer rows' : 'Each variable', title: 'A row for each variable under each mechanism' });
    each.onclick = () => {
      state.parts = !state.parts;
      state.root.querySelector('.top').replaceChildren(resultTable(state, rows));
      state.root.querySelector('.headline thead th:last-child button').focus();
    };
    buttons.unshift(each);
  }
  head.push(element('th', { scope: 'col', class: 'more-columns' }, buttons));
  return element('table', { class: rows.length > 3 ? 'headline dense' : 'headline' }, [
    element('thead', {}, [element('tr', {}, [element('th', { scope: 'col', text: 'Mechanism' }), ...head])]),
    element('tbody', {}, sorted.flatMap((row) => resultRow(state, row, columns, rows.length > 1))),
  ]);
}

function makeCard(figure) {
  // Not role img: the buttons inside, which plotly makes, would be hidden from a screen reader.
  const plot = element('div', { class: 'plot', role: 'figure' });
  const data = element('div', { class: 'data', hidden: '', tabindex: '0' });
  const button = element('button', { class: 'show', type: 'button', text: 'Table',
    'aria-pressed': 'false' });
  button.onclick = () => {
    data.hidden = !data.hidden;
    plot.hidden = !data.hidden;
    button.textContent = data.hidden ? 'Table' : 'Figure';
    button.setAttribute('aria-pressed', String(!data.hidden));
    if (data.hidden) resize(made);
  };
  const card = element('section', { class: 'card', 'data-figure': figure.key }, [
    element('header', {}, [element('h3', { text: figure.title }),
      element('span', { class: 'tag', title: 'Shows confidential values: must not leave', text: figure.tag }),
      button]),
    element('p', { class: 'reading', text: figure.reading }), plot, data]);
  const made = { card, plot, data, size: new ResizeObserver(() => resize(made)) };
  return made;
}

// plotly.js works on after its calls return, and fails on a plot that was purged or hidden meanwhile.
function working(card, work) {
  card.work = Promise.allSettled([card.work, work]);
}

function resize(card) {
  const shown = card.plot.offsetParent && card.plot.data;
  if (window.Plotly && shown) working(card, window.Plotly.Plots.resize(card.plot));
}

function forget(card) {
  card.size.disconnect();
  card.card.remove();
  Promise.resolve(card.work).then(() => window.Plotly?.purge(card.plot));
}

function themed(value, colors) {
  if (typeof value === 'string') return colors[value] ?? value;
  if (Array.isArray(value)) return value.length && typeof value[0] === 'number' ? value : value.map((v) => themed(v, colors));
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, themed(v, colors)]));
  }
  return value;
}

// In two lines, parted at the space nearest to the middle.
function halved(text) {
  const spaces = [...text.matchAll(/ /g)].map((found) => found.index);
  if (!spaces.length) return text;
  const middle = text.length / 2;
  const at = spaces.reduce((best, each) => (Math.abs(each - middle) < Math.abs(best - middle) ? each : best));
  return `${text.slice(0, at)}<br>${text.slice(at + 1)}`;
}

const NARROW = 500;
const BESIDE_MAPS = 110;  // pixels of a row's names and the scale of colours, beside the margins

// Names over maps side by side stand in as many lines, one above the other, as keep neighbours apart.
function staggered(layout, width) {
  const names = layout.annotations ?? [];
  if (names.length < 2) return layout;
  const { l = 0, r = 0, t = 0 } = layout.margin ?? {};
  const size = names[0].font?.size ?? layout.font.size;
  const widest = Math.max(...names.map(({ text }) => 0.6 * size * Math.max(...text.split('<br>').map((line) => line.length))));
  const lines = Math.min(Math.ceil(widest / ((width - l - r - BESIDE_MAPS) / names.length)), names.length);
  if (lines < 2) return layout;
  const step = 1.4 * size * Math.max(...names.map(({ text }) => text.split('<br>').length));
  return { ...layout, margin: { ...layout.margin, t: t + (lines - 1) * step },
    annotations: names.map((name, i) => ({ ...name, yshift: (lines - 1 - (i % lines)) * step })) };
}

function draw(state) {
  const css = getComputedStyle(state.root);
  const text = css.getPropertyValue('--st-text-color').trim() || '#1b2430';
  const grid = css.getPropertyValue('--st-border-color').trim() || '#cccccc';
  const colors = { '@text': text, '@faint': 'rgba(128,136,148,0.28)' };
  state.theme = text + grid;
  for (const figure of state.figures) {
    const card = state.cards.get(figure.key);
    let layout = state.presenting ? enlarged(themed(figure.layout, colors), stageSize()) : themed(figure.layout, colors);
    layout.paper_bgcolor = layout.plot_bgcolor = 'rgba(0,0,0,0)';
    layout.font = { size: figure.height ? 14 : 12, ...layout.font, color: text, family: css.fontFamily };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) layout[name] = { gridcolor: grid, linecolor: grid, zerolinecolor: text, zerolinewidth: 1, ...layout[name] };
      const title = layout[name].title;
      const wide = 0.55 * (title?.font?.size ?? 1.2 * layout.font.size) * (title?.text?.length ?? 0);
      const room = name.startsWith('y') ? 0.75 * card.plot.clientHeight : 0.8 * card.plot.clientWidth;
      if (wide > room) layout[name].title = { ...title, text: halved(title.text) };
    }
    layout = staggered(layout, card.plot.clientWidth);
    // A figure that was hidden is drawn in its room at once: enlarged afterwards its legend stood in the plot.
    if (state.presenting && card.plot.clientHeight) layout = { ...layout, width: card.plot.clientWidth, height: card.plot.clientHeight };
    // Legends one over the other have room for three names in a line: on a phone there is one of all.
    const one = card.plot.clientWidth < NARROW ? { legend: 'legend' } : {};
    const traces = lifted(state, themed(figure.traces, colors)).map((each) => (each.legend ? { ...each, ...one } : each));
    card.plot.setAttribute('aria-label', `${figure.title}. ${figure.alt}`);
    working(card, window.Plotly.react(card.plot, state.presenting ? longerScales(traces, stageSize()) : traces, layout,
      // Named one by one: plotly.js also has buttons that send a chart to its makers.
      { displaylogo: false, responsive: false, displayModeBar: state.presenting ? false : 'hover',
        modeBarButtons: [['zoom2d', 'pan2d', 'resetScale2d', 'toImage']] }));
    if (!card.listening) {
      card.listening = true;
      card.plot.on('plotly_legendclick', (event) => {
        const mechanism = event.data[event.curveNumber].meta;
        if (mechanism) lift(state, mechanism);
        return false;  // lifted out, not taken away
      });
      card.plot.on('plotly_legenddoubleclick', () => false);
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

// A figure that comes later than others stands where it stands when all come together.
function inOrder(state) {
  const made = state.figures.map((figure) => [figure.key, state.cards.get(figure.key)]);
  state.cards = new Map(made);
  const place = state.root.querySelector('.cards');
  made.forEach(([, { card }], i) => { if (place.children[i] !== card) place.insertBefore(card, place.children[i] ?? null); });
}

// A picture that did not arrive is asked for; the question or its answer can be lost too, overtaken by another run.
// Each time it is waited twice as long: a question ends the run that may be about to answer.
const PATIENCE = 5000;

function ask(state, version) {
  state.patience = state.lacks === version ? 2 * state.patience : PATIENCE;
  state.lacks = version;
  state.asked = Date.now();
  state.lacking(version);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector('.board');
  let state = root.synthState;
  if (!state) {
    state = { root, cards: new Map(), figures: [], sort: {} };
    root.synthState = state;
    const [bar, foot] = stageParts(state);
    root.append(bar, element('div', { class: 'top' }), element('div', { class: 'cards' }), foot);
    state.watch = setInterval(() => {  // the theme can change without a rerun
      const css = getComputedStyle(root);
      const now = (css.getPropertyValue('--st-text-color').trim() || '#1b2430')
        + (css.getPropertyValue('--st-border-color').trim() || '#cccccc');
      if (window.Plotly && state.theme && now !== state.theme) draw(state);
      if (state.lacks && Date.now() - state.asked > state.patience) ask(state, state.lacks);
    }, 700);
  }
  state.lacking = (version) => setTriggerValue('lacks', version);
  state.clicked = (what) => setTriggerValue('clicked', what);
  state.stepped = (by) => setTriggerValue('stepped', by);
  tellStage(state, data.stage, data.stale);
  root.classList.toggle('stale', data.stale);
  root.classList.toggle('dim', data.dim);
  root.setAttribute('aria-busy', String(data.stale));
  if (state.version === data.version) {
    state.lacks = undefined;
  } else if (!data.figures) {
    if (state.lacks !== data.version) ask(state, data.version);
  } else {
    state.lacks = undefined;
    state.version = data.version;
    state.figures = data.figures;
    state.columns = data.columns;
    root.classList.toggle('many', data.results.length > 6);
    root.querySelector('.top').replaceChildren(...(data.results.length ? [resultTable(state, data.results)] : []));
    const wanted = new Set(data.figures.map((f) => f.key));
    for (const [key, card] of state.cards) {
      if (!wanted.has(key)) { forget(card); state.cards.delete(key); }
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
      card.card.querySelector('.show').setAttribute('aria-label', `${figure.title}: show as a table`);
      card.card.querySelector('.reading').textContent = figure.reading;
      card.data.replaceChildren(table(figure.table.columns, figure.table.rows, figure.reading));
    }
    inOrder(state);
    plotly(data.plotly).then(() => { if (root.synthState === state) arrange(state); });
  }
  return () => {
    clearInterval(state.watch);
    forgetStage(state);
    for (const card of state.cards.values()) forget(card);
    root.synthState = undefined;
    root.replaceChildren();
  };
}
