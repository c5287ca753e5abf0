// The columns of the table in use: a row each, with its role and kind to be chosen, and a button that opens it.

// Text goes in through textContent only: names come from a user's file.
function element(tag, attributes = {}, children = []) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') node.textContent = value;
    else if (value !== false && value !== undefined) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children);
  return node;
}

const HEADS = ['Column', 'Role', 'Kind', 'Model', 'Fit', 'Share of ε', 'May be missing', 'Declared', 'Missing', 'Distinct', 'Note'];

function choice(state, row, field, options, label) {
  const select = element('select', { 'aria-label': `${label} of ${row.name}`, disabled: !options.length });
  for (const option of options.length ? options : [row[field]]) select.append(element('option', { text: option }));
  select.value = row[field];
  select.onchange = () => state.changed({ name: row.name, field, value: select.value });
  return select;
}

function share(state, row) {
  if (row.share === null) return '';
  const box = element('input', { type: 'number', min: '0.1', max: '99.9', step: 'any', 'aria-label': `Share of ε of ${row.name}, in %`,
    placeholder: row.equal, value: row.share });
  box.onchange = () => state.changed({ name: row.name, field: 'share', value: box.value });
  return element('label', { class: 'share' }, [box, ' %']);
}

function mayBeMissing(state, row) {
  if (row.may_be_missing === null) return '';
  const box = element('input', { type: 'checkbox', 'aria-label': `${row.name} may be missing` });
  box.checked = row.may_be_missing;
  box.onchange = () => state.changed({ name: row.name, field: 'may_be_missing', value: box.checked });
  return box;
}

function line(state, row) {
  const open = element('button', { type: 'button', class: 'open', 'aria-pressed': String(row.name === state.open),
    title: 'Open: model, bounds, categories', text: row.name });
  open.onclick = () => state.changed({ name: row.name, field: 'open', value: true });
  const cells = [
    choice(state, row, 'role', row.roles, 'Role'),
    choice(state, row, 'kind', row.kinds, 'Kind'),
    row.model,
    element('span', { class: `fit ${row.fit}`, text: row.fit_words }),
    share(state, row),
    mayBeMissing(state, row),
    row.declared,
    row.missing,
    row.distinct,
    row.note,
  ];
  const tr = element('tr', { class: `${row.used ? 'used' : ''} ${row.name === state.open ? 'opened' : ''}`, 'data-column': row.name }, [
    element('th', { scope: 'row' }, [open]),
    ...cells.map((cell, i) => i === 9 || i === 6 ? element('td', { class: 'words', title: cell }, [element('span', { text: cell })])
      : element('td', i > 6 ? { class: 'figure' } : i === 2 || i === 3 ? { class: 'lines' } : {}, [cell])),
  ]);
  tr.onclick = (event) => { if (!event.target.closest('button, select, input, label')) open.click(); };
  return tr;
}

// One row has its controls in the tab order, arrows on its name go to another: a table may have hundreds.
function rove(state, tr) {
  for (const each of state.body.querySelectorAll('button, select, input')) each.tabIndex = tr && tr.contains(each) ? 0 : -1;
  state.roving = tr ? tr.dataset.column : undefined;
}

function shownRows(state) {
  return [...state.body.rows].filter((tr) => !tr.hidden);
}

function arrow(state, event) {
  if (!event.target.classList.contains('open')) return;
  const rows = shownRows(state), at = rows.indexOf(event.target.closest('tr'));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (to === undefined || !rows[to]) return;
  event.preventDefault();
  rove(state, rows[to]);
  rows[to].querySelector('.open').focus();
}

function filter(state) {
  const wanted = state.search.value.trim().toLowerCase(), used = state.only.checked;
  // The page below stays where it is while the table is shortened.
  if (!state.shortened && (wanted || used)) state.scroll.style.minHeight = `${state.scroll.offsetHeight}px`;
  if (!(wanted || used)) state.scroll.style.minHeight = '';
  state.shortened = Boolean(wanted || used);
  let shown = 0;
  for (const tr of state.body.rows) {
    tr.hidden = (used && !tr.classList.contains('used')) || (wanted && !tr.dataset.column.toLowerCase().includes(wanted));
    shown += tr.hidden ? 0 : 1;
  }
  state.count.textContent = `${shown} of ${state.body.rows.length}`;
  const rows = shownRows(state), named = (name) => rows.find((tr) => tr.dataset.column.toLowerCase() === String(name).toLowerCase());
  rove(state, named(wanted) || named(state.roving) || named(state.open) || rows[0]);
}

function build(state) {
  state.search = element('input', { type: 'search', placeholder: 'Find a column', 'aria-label': 'Find a column' });
  state.only = element('input', { type: 'checkbox' });
  state.count = element('span', { class: 'count', 'aria-live': 'polite' });
  state.search.oninput = state.only.onchange = () => filter(state);
  state.body = element('tbody');
  state.body.onkeydown = (event) => arrow(state, event);
  state.body.addEventListener('focusin', (event) => rove(state, event.target.closest('tr')));
  state.scroll = element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Columns of the table' }, [
    element('table', {}, [
      element('thead', {}, [element('tr', {}, HEADS.map((head) => element('th', { scope: 'col', text: head })))]),
      state.body,
    ])]);
  state.root.append(element('div', { class: 'bar' }, [state.search, element('label', {}, [state.only, ' Used only']), state.count]), state.scroll);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector('.columns');
  let state = root.synthState;
  if (!state) {
    state = root.synthState = { root };
    build(state);
  }
  // A busy server hears of the last trigger only: with each change go those before it that it has not taken yet.
  const { seen, ...shown } = data;
  state.number = Math.max(state.number ?? 0, seen);
  state.waiting = (state.waiting ?? []).filter((what) => what.number > seen);
  state.changed = (what) => {
    state.waiting.push({ ...what, number: ++state.number, of: data.of });
    setTriggerValue('changed', JSON.stringify(state.waiting));
  };
  const version = JSON.stringify(shown);
  if (state.version !== version) {  // rows are made anew, the place and the focus stay
    const focused = document.activeElement && root.contains(document.activeElement) ? document.activeElement.getAttribute('aria-label') || document.activeElement.textContent : null;
    const sorted = state.order !== data.order;
    state.version = version;
    state.order = data.order;
    state.open = data.open;
    if (sorted) { state.search.value = ''; state.only.checked = false; state.scroll.scrollTop = 0; }
    root.classList.toggle('records', data.records);
    state.body.replaceChildren(...data.rows.map((row) => line(state, row)));
    filter(state);
    if (focused !== null) {
      for (const each of state.body.querySelectorAll('button, select, input')) {
        if ((each.getAttribute('aria-label') || each.textContent) === focused) { each.focus({ preventScroll: true }); break; }
      }
    }
  }
  return () => {
    root.synthState = undefined;
    root.replaceChildren();
  };
}
