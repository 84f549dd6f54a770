// Draws a run: only what is in view, dots where there is room and heaps where there is not. Everything that comes from the
// run reaches the document as text, never as markup. timeline_data.js, timeline_folds.js and timeline_jobs.js stand before it.

const $ = id => document.getElementById(id);

// ---- the page --------------------------------------------------------------------------------------------------------

function start(run) {
  const canvas = $('canvas'), overview = $('overview'), tip = $('tip');
  const GUTTER = 132, AXIS = 24;
  const duration = Math.max(run.end, 1);
  const view = { from: 0, to: duration, begin: 0, end: duration, scroll: 0 };  // virtual time, and the same in awake time
  let folds = new Folds(run.folds), scale = null, withNoise = false;
  let eventsOf = [];                        // those that are not hidden, by lane
  let selected = NONE, causes = null, causeList = [], job = 0, hits = [], hit = NONE, hitSet = null, colours = {}, drawn = [], due = false;
  let lanes = run.lanes.map((_, i) => i);  // those shown
  let heights = null;                       // of the overview
  let ofJob = null;                         // events of the chosen job, by lane

  const width = () => canvas.clientWidth, height = () => canvas.clientHeight;
  const rowHeight = () => Math.max(26, Math.min(64, (height() - AXIS) / Math.max(lanes.length, 1)));
  const xOf = us => scale.x(us), usOf = x => scale.us(x);
  const hidden = i => run.noise[i] && !withNoise;
  const topOf = row => AXIS + row * rowHeight() - view.scroll;
  const rowOf = lane => lanes.indexOf(lane);
  const textOf = i => run.texts[run.what[i]].replaceAll('\x01', run.texts[run.jobOf[i]]);
  const seconds = us => (us / 1e6).toFixed(6) + 's';
  const span = us => us < 1000 ? us + 'µs' : us < 1e6 ? (us / 1e3).toFixed(3) + 'ms' : (us / 1e6).toFixed(3) + 's';

  function lowerBound(list, us, at = i => run.us[list[i]]) {
    let low = 0, high = list.length;
    while (low < high) { const mid = (low + high) >> 1; if (at(mid) < us) low = mid + 1; else high = mid; }
    return low;
  }
  function element(tag, text, className) {
    const out = document.createElement(tag); if (text !== undefined) out.textContent = text; if (className) out.className = className; return out;
  }
  function link(i, text) {
    const a = element('a', text, 'event'); a.dataset.event = i; a.tabIndex = 0;
    a.onclick = () => select(i, true); a.onkeydown = e => { if (e.key === 'Enter') select(i, true); }; return a;
  }
  /// Text in which #n of a known event can be clicked.
  function linked(text) {
    const out = element('div');
    text.split(/(#\d+)/).forEach(part => {
      const i = part[0] === '#' ? byNumber(+part.slice(1)) : NONE;
      out.append(i === NONE || run.number[i] !== +part.slice(1) ? part : link(i, part));
    });
    return out;
  }
  function byNumber(number) {
    let low = 0, high = run.number.length;
    while (low < high) { const mid = (low + high) >> 1; if (run.number[mid] < number) low = mid + 1; else high = mid; }
    return low < run.number.length ? low : NONE;
  }
  function wish() { if (!due) { due = true; requestAnimationFrame(() => { due = false; draw(); drawOverview(); }); } }

  // ---- choosing

  function ancestors(root) {
    const seen = new Uint8Array(run.number.length), todo = [root]; seen[root] = 1;
    while (todo.length) { const e = todo.pop(); for (const of of run.parents) { const p = of[e]; if (p !== NONE && !seen[p]) { seen[p] = 1; todo.push(p); } } }
    return seen;
  }
  function select(i, reveal) {
    if (i !== NONE && hidden(i)) showNoise(true);
    selected = i;
    causes = i === NONE ? null : ancestors(i); causeList = [];
    if (causes) for (let e = 0; e < causes.length; ++e) if (causes[e] && !hidden(e)) causeList.push(e);
    if (i !== NONE && reveal) show(i);
    if (i !== NONE) history.replaceState(null, '', '#' + run.number[i]);
    details(); wish();
  }
  function show(i) {
    if (rowOf(run.lane[i]) < 0) chooseJob(0);
    const half = (view.end - view.begin) / 2, at = folds.awake(run.us[i]);
    if (at < view.begin + half * 0.1 || at > view.end - half * 0.1) setAwake(at - half, at + half);
    const top = topOf(rowOf(run.lane[i]));
    if (top < AXIS || top + rowHeight() > height()) scrollBy(top - height() / 2);
  }
  function chooseJob(id) {
    job = id; ofJob = null;
    if (job) { ofJob = run.lanes.map(() => []); for (let i = 0; i < run.jobOf.length; ++i) if (run.jobOf[i] === job && !hidden(i)) ofJob[run.lane[i]].push(i); }
    // Of many lanes, those of this job.
    lanes = run.lanes.map((_, i) => i);
    if (job && lanes.length > 12) lanes = lanes.filter(lane => ofJob[lane].length > 0 || (selected !== NONE && run.lane[selected] === lane));
    $('job').value = job ? run.texts[job] : ''; rows.mark(run.texts[job]);
    if (hitSet) search($('search').value);
    scrollBy(0); details(); wish();
  }
  /// To the bar of a job: its row is marked, its events are what is shown.
  function goToJob(name) {
    const id = run.texts.indexOf(name), first = id > 0 ? run.jobOf.indexOf(id) : NONE;
    select(NONE, false); chooseJob(first === NONE ? 0 : id); rows.mark(name);
    history.replaceState(null, '', '#job:' + encodeURIComponent(name));
    if (first === NONE) { $('details').prepend(element('p', 'The events of ' + name + ' are not on this page; `lockstep explain FILE --job ' + name + '` tells of it.')); return; }
    const from = run.us[first], to = run.us[run.jobOf.lastIndexOf(id)], margin = Math.max((folds.awake(to) - folds.awake(from)) * 0.05, 2000);
    setAwake(folds.awake(from) - margin, folds.awake(to) + margin);
  }
  const setView = (from, to) => setAwake(folds.awake(from), folds.awake(to));
  function setAwake(from, to) {
    const all = folds.awake(duration), least = 20, most = all * 1.04 + least;
    const size = Math.min(Math.max(to - from, least), most);
    let middle = (from + to) / 2;
    middle = Math.min(Math.max(middle, size / 2 - all * 0.02), all * 1.02 + least - size / 2);
    view.begin = middle - size / 2; view.end = middle + size / 2;
    view.from = folds.virtual(view.begin); view.to = folds.virtual(view.end); rescale(); wish();
  }
  function rescale() { scale = new FoldedScale(folds, view.begin, view.end, GUTTER, Math.max(width(), GUTTER + 1)); }
  function fit() { const all = folds.awake(duration); setAwake(-all * 0.02, all * 1.02); }
  function fold(on) { const { from, to } = view; folds = new Folds(on ? run.folds : []); heights = null; setView(from, to); }
  function layEvents() { eventsOf = run.eventsOf.map(list => withNoise ? list : list.filter(i => !run.noise[i])); heights = null; }
  function showNoise(on) {
    withNoise = on; $('noise').checked = on; layEvents(); chooseJob(job);
    if (!on && selected !== NONE && run.noise[selected]) select(NONE, false); else if (selected !== NONE) select(selected, false);
  }
  /// Around the selected event while it is in view, else around the middle.
  function centre() {
    const us = selected === NONE ? NaN : run.us[selected];
    return us >= view.from && us <= view.to ? xOf(us) : GUTTER + (width() - GUTTER) / 2;
  }
  function zoom(factor, x = centre()) { const at = folds.awake(usOf(x)); setAwake(at - (at - view.begin) * factor, at + (view.end - at) * factor); }
  function scrollBy(by) { view.scroll = Math.min(Math.max(view.scroll + by, 0), Math.max(0, lanes.length * rowHeight() - (height() - AXIS))); wish(); }
  function toViolation() {
    if (run.fact === NONE) return;
    if (run.job) chooseJob(run.job);
    toOpening(); select(run.fact, true);
  }
  const toOpening = () => setView(run.opens[1], run.opens[2]);

  function search(text) {
    hits = []; hit = NONE; hitSet = null; const needle = text.trim().toLowerCase();
    if (/^#\d+$/.test(needle)) { const i = byNumber(+needle.slice(1)); if (i !== NONE) select(i, true); }
    else if (needle) {
      const found = run.texts.map(t => t.toLowerCase().includes(needle)), lane = run.lanes.map(t => t.toLowerCase().includes(needle));
      // A name with the job in it is only whole together with its job.
      const marked = run.texts.map(t => t.includes('\x01'));
      hitSet = new Uint8Array(run.what.length);
      for (let i = 0; i < run.what.length; ++i) {
        if ((job && run.jobOf[i] !== job) || hidden(i)) continue;
        const w = run.what[i];
        if (found[w] || found[run.jobOf[i]] || lane[run.lane[i]] || (marked[w] && textOf(i).toLowerCase().includes(needle))) { hits.push(i); hitSet[i] = 1; }
      }
    }
    $('hits').textContent = needle && needle[0] !== '#' ? hits.length + ' hits' : ''; wish();
  }
  function turn(step) {
    if (!hits.length) return;
    hit = hit === NONE ? (step > 0 ? 0 : hits.length - 1) : (hit + step + hits.length) % hits.length;
    $('hits').textContent = (hit + 1) + ' of ' + hits.length; select(hits[hit], true);
  }

  // ---- the panel

  function details() {
    const box = $('details'); box.textContent = '';
    if (selected === NONE && job) { listJob(box); return; }
    if (selected === NONE) {
      box.append(element('h2', 'Click on an event'), element('p', 'to see what it was and what led to it. The wheel zooms, dragging moves, shift and the wheel go sideways; arrow keys step through the events of a lane or of the chosen job.'));
      return;
    }
    const i = selected, list = element('dl');
    const fact = (name, value) => { list.append(element('dt', name)); const d = element('dd'); d.append(value); list.append(d); };
    box.append(element('h2', '#' + run.number[i] + '  ' + textOf(i)));
    fact('time', seconds(run.us[i])); fact('at', run.lanes[run.lane[i]]);
    const ahead = clockOf(run.lane[i], run.us[i]); if (ahead) fact('its clock', (ahead > 0 ? '+' : '−') + span(Math.abs(Math.round(ahead))));
    if (run.jobOf[i]) { const a = element('a', run.texts[run.jobOf[i]], 'event'); a.tabIndex = 0; a.onclick = () => chooseJob(job === run.jobOf[i] ? 0 : run.jobOf[i]); fact('job', a); }
    ['before in this matter', 'came from', 'set off by', 'life of the node'].forEach((name, c) => {
      const p = run.parents[c][i];
      if (p !== NONE) fact(name, link(p, '#' + run.number[p] + ' ' + textOf(p) + ' (' + run.lanes[run.lane[p]] + ', ' + span(Math.round(run.us[i] - run.us[p])) + ' before)'));
    });
    box.append(list);
    const matter = run.jobOf[i] || job, shown = causeList.filter(e => !matter || run.jobOf[e] === matter || FAMILIES[run.family[e]] === 'fault');
    box.append(element('h3', 'What led to it: ' + causeList.length + ' events' + (shown.length < causeList.length ? ', ' + shown.length + ' of this job or faults' : '')));
    const MOST = 300;
    if (shown.length > MOST) box.append(element('div', '… ' + (shown.length - MOST) + ' earlier', 'row'));
    for (const e of shown.slice(-MOST).reverse()) box.append(eventRow(e, e === i));
  }
  function eventRow(e, now) {
    const row = element('span', undefined, now ? 'row now' : 'row');
    row.append(link(e, '#' + run.number[e]), ' ' + seconds(run.us[e]) + ' ' + run.lanes[run.lane[e]] + '  ' + textOf(e)); return row;
  }
  function listJob(box) {
    const own = ofJob.flat().sort((a, b) => a - b), MOST = 300;
    box.append(element('h2', run.texts[job]), element('h3', own.length + ' events of this job'));
    for (const e of own.slice(0, MOST)) box.append(eventRow(e, false));
    if (own.length > MOST) box.append(element('div', '… ' + (own.length - MOST) + ' later ones', 'row'));
  }
  function clockOf(lane, us) {
    let before = null, after = null;
    for (const [l, at, ahead] of run.clocks) { if (l !== lane) continue; if (at <= us) before = [at, ahead]; else { after = [at, ahead]; break; } }
    if (!before) return after ? after[1] : 0;
    return after ? before[1] + (after[1] - before[1]) * (us - before[0]) / Math.max(after[0] - before[0], 1) : before[1];
  }

  // ---- drawing

  function prepared(target) {
    const scale = window.devicePixelRatio || 1, w = target.clientWidth, h = target.clientHeight;
    if (target.width !== Math.round(w * scale) || target.height !== Math.round(h * scale)) { target.width = Math.round(w * scale); target.height = Math.round(h * scale); }
    const c = target.getContext('2d'); c.setTransform(scale, 0, 0, scale, 0, 0); c.fillStyle = colours.bg; c.fillRect(0, 0, w, h); return c;
  }
  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ['bg', 'panel', 'line', 'faint', 'fold', 'text', 'dim', ...FAMILIES, ...SPAN_COLOURS, 'accent', 'hit']) colours[name] = style.getPropertyValue('--' + name).trim();
  }
  const shape = i => { const f = FAMILIES[run.family[i]]; return f === 'life' || f === 'fault' ? 'square' : f === 'state' || f === 'lock' ? 'diamond' : 'dot'; };
  function mark(c, i, x, y, r) {
    c.beginPath();
    if (shape(i) === 'square') c.rect(x - r, y - r, 2 * r, 2 * r);
    else if (shape(i) === 'diamond') { c.moveTo(x, y - r - 1.5); c.lineTo(x + r + 1.5, y); c.lineTo(x, y + r + 1.5); c.lineTo(x - r - 1.5, y); c.closePath(); }
    else c.arc(x, y, r, 0, 7);
    c.fill();
  }
  function* barsInView(bars) {
    for (let i = lowerBound(bars, view.from, k => bars[k].from + bars[k].reach); i < bars.length && bars[i].from <= view.to; ++i) if (bars[i].to >= view.from) yield bars[i];
  }
  function drawBars(c, bars, top, h) {
    const rowed = [0.78, 0.12]; let last = [-9, -9, -9, -9, -9];
    for (const bar of barsInView(bars)) {
      const x = Math.max(xOf(bar.from), GUTTER), to = Math.min(xOf(bar.to), width());
      if (to - x < 1 && x - last[bar.span] < 1) continue;  // another one stands there already
      last[bar.span] = x;
      c.globalAlpha = job && bar.job && bar.job !== job ? 0.15 : 1;
      c.fillStyle = colours[SPAN_COLOURS[bar.span]];
      const inner = bar.span < 2;
      c.fillRect(x, inner ? top + h * rowed[bar.span] : top, Math.max(to - x, 1), inner ? Math.max(3, h * 0.12) : h);
      if (!inner && to - x > 60) { c.fillStyle = colours.dim; c.font = '10px sans-serif'; c.fillText(clip(c, run.texts[bar.what], to - x - 8), x + 4, top + 10); }
      c.globalAlpha = 1;
    }
  }
  function clip(c, text, room) {
    if (c.measureText(text).width <= room) return text;
    while (text.length > 1 && c.measureText(text + '…').width > room) text = text.slice(0, -Math.ceil(text.length / 8));
    return text.length > 1 ? text + '…' : '';
  }
  function axis(c) {
    const step = [1, 2, 5].flatMap(m => Array.from({ length: 12 }, (_, e) => m * 10 ** e)).sort((a, b) => a - b).find(s => s * scale.slope >= 90) || duration;
    const digits = Math.max(0, 6 - Math.floor(Math.log10(step) + 1e-9));
    c.font = '11px sans-serif'; c.textBaseline = 'alphabetic';
    for (let us = Math.ceil(Math.max(view.from, 0) / step) * step; us <= view.to; us += step) {
      const gap = folds.around(us); if (gap) { us = Math.ceil(gap[1] / step) * step - step; continue; }
      const x = xOf(us); c.strokeStyle = colours.faint; c.beginPath(); c.moveTo(x, AXIS); c.lineTo(x, height()); c.stroke();
      const text = (us / 1e6).toFixed(digits) + 's', end = x + 5 + c.measureText(text).width;
      if (!scale.marks.some(m => x < m.x && end > m.x)) { c.fillStyle = colours.dim; c.fillText(text, x + 3, 15); }
    }
  }
  /// Bands with the length of what is not drawn.
  function drawFolds(c) {
    for (const mark of scale.marks) {
      c.fillStyle = colours.fold; c.fillRect(mark.x, AXIS, mark.width, height() - AXIS);
      c.fillStyle = colours.panel; c.fillRect(mark.x, 0, mark.width, AXIS - 1);
      c.fillStyle = colours.dim; c.font = '9px sans-serif'; c.fillText(clip(c, lengthOf(mark.to - mark.from), mark.width), mark.x + 1, 14);
    }
  }
  function drawLane(c, lane, row) {
    const top = topOf(row), h = rowHeight(), middle = top + h * 0.5;
    if (top > height() || top + h < AXIS) return;
    c.fillStyle = colours.line; c.fillRect(0, top + h - 1, width(), 1);
    drawBars(c, run.barsOf[lane], top, h - 1);
    const only = $('only').checked && causes;
    const all = eventsOf[lane], from = lowerBound(all, view.from), to = lowerBound(all, view.to + 1e-9);
    const pixels = width() - GUTTER, crowded = to - from > pixels / 4;
    if (crowded || job || only) heap(c, all, from, to, middle, h, job || only ? 0.22 : 0.8);
    const list = job ? ofJob[lane] : all;
    const first = job ? lowerBound(list, view.from) : from, end = job ? lowerBound(list, view.to + 1e-9) : to;
    const sparse = end - first <= pixels / 4;
    let room = -Infinity;
    for (let k = first; sparse && k < end; ++k) {
      const i = list[k];
      if (only && !causes[i]) continue;
      const x = xOf(run.us[i]);
      c.fillStyle = colours[FAMILIES[run.family[i]]]; mark(c, i, x, middle, 3); drawn.push([i, x, middle]);
      const next = k + 1 < end ? xOf(run.us[list[k + 1]]) : width();
      if (next - x > 70 && x + 6 > room) { c.font = '10.5px sans-serif'; c.fillStyle = colours.text; const text = clip(c, textOf(i), Math.min(next - x - 12, 300)); c.fillText(text, x + 6, middle - 5); room = x; }
    }
    if (job && !sparse) { c.fillStyle = colours.effect; heap(c, list, first, end, middle, h, 0.9); }
    if (hitSet) { c.fillStyle = colours.hit; let last = -9; for (let k = lowerBound(hits, view.from); k < hits.length && run.us[hits[k]] <= view.to; ++k) { if (run.lane[hits[k]] !== lane) continue; const x = xOf(run.us[hits[k]]); if (x - last >= 1) c.fillRect(x - 1, top + 2, 2, h - 5); last = x; } }
  }
  /// Heaps: how many events there are in each two pixels, on a logarithmic scale.
  function heap(c, list, from, to, middle, h, alpha) {
    c.globalAlpha = alpha; const step = 2;
    for (let x = GUTTER, k = from; x < width() && k < to; x += step) {
      const end = lowerBound(list, usOf(x + step)), count = Math.min(end, to) - k;
      if (count > 0) { const tall = Math.min(h * 0.44, 2 + Math.log2(1 + count) * h * 0.06); c.fillStyle = colours[FAMILIES[run.family[list[k]]]]; c.fillRect(x, middle - tall / 2, step, tall); k = end; }
    }
    c.globalAlpha = 1;
  }
  function arrow(c, from, to, strong) {
    const a = rowOf(run.lane[from]), b = rowOf(run.lane[to]); if (a < 0 || b < 0 || a === b) return;
    const h = rowHeight() / 2, x1 = xOf(run.us[from]), y1 = topOf(a) + h, x2 = xOf(run.us[to]), y2 = topOf(b) + h;
    const long = Math.hypot(x2 - x1, y2 - y1), dx = (x2 - x1) / long, dy = (y2 - y1) / long, tipX = x2 - dx * 4, tipY = y2 - dy * 4;
    c.strokeStyle = c.fillStyle = strong ? colours.accent : colours.dim; c.globalAlpha = strong ? 0.9 : 0.4; c.lineWidth = strong ? 1.4 : 1;
    c.beginPath(); c.moveTo(x1, y1); c.lineTo(tipX, tipY); c.stroke();
    c.beginPath(); c.moveTo(tipX, tipY); c.lineTo(tipX - dx * 6 - dy * 3, tipY - dy * 6 + dx * 3); c.lineTo(tipX - dx * 6 + dy * 3, tipY - dy * 6 - dx * 3); c.fill();
    c.globalAlpha = 1; c.lineWidth = 1;
  }
  function arrows(c) {
    const only = $('only').checked && causes, MOST = 2500;
    if (drawn.length && drawn.length <= MOST) for (const [i] of drawn) { const p = run.parents[1][i]; if (p !== NONE && !hidden(p) && (!job || run.jobOf[p] === job || run.jobOf[p] === 0) && !(only && !causes[p])) arrow(c, p, i, false); }
    if (!causes) return;
    const begin = Math.max(0, lowerBound(causeList, view.from) - 1), end = Math.min(causeList.length, lowerBound(causeList, view.to) + 1);
    for (let k = begin, n = 0; k < end && n < MOST; ++k) {
      const i = causeList[k]; if (job && run.jobOf[i] !== job) continue;
      for (const c2 of [1, 2]) { const p = run.parents[c2][i]; if (p !== NONE && !hidden(p)) { arrow(c, p, i, true); ++n; } }
    }
  }
  function rings(c) {
    if (!causes) return;
    const ring = (i, r, colour, fill) => { const row = rowOf(run.lane[i]); if (row < 0) return; c.strokeStyle = colour; c.lineWidth = 1.6; c.beginPath(); c.arc(xOf(run.us[i]), topOf(row) + rowHeight() / 2, r, 0, 7); c.stroke(); if (fill) { c.fillStyle = colour; c.globalAlpha = 0.25; c.fill(); c.globalAlpha = 1; } c.lineWidth = 1; };
    let n = 0;
    for (let k = lowerBound(causeList, view.from); k < causeList.length && run.us[causeList[k]] <= view.to && n < 3000; ++k) { if (!job || run.jobOf[causeList[k]] === job || run.jobOf[causeList[k]] === 0) { ring(causeList[k], 4.5, colours.accent, false); ++n; } }
    ring(selected, 8, colours.accent, true);
    for (const i of [run.fact, run.earlier]) if (i !== NONE && run.us[i] >= view.from && run.us[i] <= view.to) ring(i, 11, colours.fault, false);
  }
  function gutter(c) {
    c.fillStyle = colours.panel; c.fillRect(0, 0, GUTTER, height()); c.fillStyle = colours.line; c.fillRect(GUTTER - 1, 0, 1, height()); c.fillRect(0, AXIS - 1, width(), 1);
    const middle = (view.from + view.to) / 2;
    c.save(); c.beginPath(); c.rect(0, AXIS, GUTTER - 4, height()); c.clip();
    lanes.forEach((lane, row) => {
      const y = topOf(row) + rowHeight() / 2; if (y < 0 || y > height() + 40) return;
      c.font = '12px sans-serif'; c.fillStyle = colours.text; c.fillText(clip(c, run.lanes[lane], GUTTER - 18), 10, y + (rowHeight() > 30 ? -1 : 4));
      const ahead = Math.round(clockOf(lane, middle));
      if (!ahead) return;
      const clock = (ahead > 0 ? '+' : '−') + span(Math.abs(ahead)), roomy = rowHeight() > 30, taken = c.measureText(run.lanes[lane]).width + 20;
      c.font = roomy ? '10px sans-serif' : '9px sans-serif'; c.fillStyle = colours.dim;
      if (roomy) c.fillText('clock ' + clock, 10, y + 12);
      else { const w = c.measureText(clock).width; if (taken + w < GUTTER - 6) c.fillText(clock, GUTTER - 8 - w, y + 4); }
    });
    c.restore();
    c.fillStyle = colours.panel; c.fillRect(0, 0, GUTTER - 1, AXIS - 1); c.fillStyle = colours.dim; c.font = '11px sans-serif';
    c.fillText(lanes.length < run.lanes.length ? lanes.length + ' of ' + run.lanes.length + ' lanes' : 'virtual time', 10, 15);
  }
  function draw() {
    rescale();
    const c = prepared(canvas); drawn = [];
    axis(c);
    c.save(); c.beginPath(); c.rect(GUTTER, AXIS, width() - GUTTER, height() - AXIS); c.clip();
    drawBars(c, run.barsOfAll, AXIS, Math.min(lanes.length * rowHeight(), height() - AXIS));
    lanes.forEach((lane, row) => drawLane(c, lane, row));
    arrows(c); rings(c);
    c.restore(); drawFolds(c); gutter(c);
  }
  const overviewScale = () => new FoldedScale(folds, 0, folds.awake(duration), 0, Math.max(overview.clientWidth, 1));
  function drawOverview() {
    const c = prepared(overview), w = overview.clientWidth, h = overview.clientHeight, own = overviewScale();
    if (!heights || heights.length !== w) { heights = new Uint32Array(w); for (let i = 0; i < run.us.length; ++i) if (!hidden(i)) ++heights[Math.max(0, Math.min(w - 1, Math.floor(own.x(run.us[i]))))]; }
    const most = Math.log2(1 + heights.reduce((a, b) => Math.max(a, b), 1));
    for (const bar of [...run.barsOfAll, ...run.barsOf.flat().filter(b => b.span >= 2)]) { c.fillStyle = colours[SPAN_COLOURS[bar.span]]; c.fillRect(own.x(bar.from), 0, Math.max(1, own.x(bar.to) - own.x(bar.from)), h); }
    c.fillStyle = colours.fold; for (const mark of own.marks) c.fillRect(mark.x, 0, mark.width, h);
    c.fillStyle = colours.other; for (let x = 0; x < w; ++x) { const tall = Math.log2(1 + heights[x]) / most * (h - 8); c.fillRect(x, h - tall, 1, tall); }
    if (causes) { c.fillStyle = colours.accent; for (const i of causeList.length > 5000 ? causeList.slice(-5000) : causeList) c.fillRect(own.x(run.us[i]), h - 4, 1, 4); }
    if (run.fact !== NONE) { c.fillStyle = colours.fault; c.fillRect(own.x(run.us[run.fact]) - 1, 0, 2, h); }
    const x = own.x(view.from), x2 = own.x(view.to);
    c.strokeStyle = colours.effect; c.strokeRect(Math.max(x, 1) + .5, 1.5, Math.max(3, Math.min(x2, w - 2) - Math.max(x, 1)), h - 3);
  }

  // ---- the hand

  /// The event under the pointer; of several, the one after the selected.
  function under(x, y) {
    const near = drawn.filter(([, ex, ey]) => Math.abs(ex - x) <= 6 && Math.abs(ey - y) <= rowHeight() / 2).sort((a, b) => Math.abs(a[1] - x) - Math.abs(b[1] - x));
    if (!near.length) return NONE;
    const same = near.filter(([, ex]) => Math.abs(ex - near[0][1]) < 1.5).map(([i]) => i).sort((a, b) => a - b);
    const at = same.indexOf(selected); return same[(at + 1) % same.length];
  }
  function barUnder(x, y) {
    const row = Math.floor((y - AXIS + view.scroll) / rowHeight()); if (row < 0 || row >= lanes.length || x < GUTTER) return null;
    const us = usOf(x), slack = usOf(x + 2) - us; let found = null;
    for (const bars of [run.barsOfAll, run.barsOf[lanes[row]]]) for (const bar of barsInView(bars)) {
      const deep = (y - topOf(row)) / rowHeight(), zone = bar.span === 0 ? deep > 0.7 : bar.span === 1 ? deep < 0.32 : true;
      if (zone && bar.from - slack <= us && us <= bar.to + slack && (!job || !bar.job || bar.job === job)) found = bar;
    }
    return found;
  }
  let grab = null;
  canvas.onpointerdown = e => { canvas.setPointerCapture(e.pointerId); grab = { x: e.offsetX, y: e.offsetY, begin: view.begin, end: view.end, scroll: view.scroll, moved: false }; };
  canvas.onpointermove = e => {
    if (grab) {
      const dx = e.offsetX - grab.x, dy = e.offsetY - grab.y; if (Math.abs(dx) + Math.abs(dy) > 4) grab.moved = true;
      if (!grab.moved) return;
      canvas.classList.add('grabbing'); const shift = dx / scale.slope;
      setAwake(grab.begin - shift, grab.end - shift); view.scroll = grab.scroll; scrollBy(-dy); return;
    }
    const i = under(e.offsetX, e.offsetY), gap = i === NONE ? scale.markUnder(e.offsetX) : null, bar = i === NONE && !gap ? barUnder(e.offsetX, e.offsetY) : null;
    tip.style.display = i === NONE && !bar && !gap ? 'none' : 'block'; canvas.style.cursor = i === NONE ? '' : 'pointer';
    if (i !== NONE) tip.textContent = '#' + run.number[i] + ' ' + seconds(run.us[i]) + '  ' + textOf(i) + (run.jobOf[i] && !textOf(i).includes(run.texts[run.jobOf[i]]) ? '  (' + run.texts[run.jobOf[i]] + ')' : '');
    else if (gap) tip.textContent = 'folded: nothing happens for ' + lengthOf(gap.to - gap.from) + ', from ' + seconds(gap.from) + ' to ' + seconds(gap.to);
    else if (bar) tip.textContent = SPANS[bar.span] + ': ' + run.texts[bar.what] + (bar.job ? ', job ' + run.texts[bar.job] : '') + ', ' + seconds(bar.from) + ' to ' + seconds(bar.to) + ' (' + span(Math.round(bar.to - bar.from)) + ')';
    tip.style.left = Math.min(e.offsetX + 14, width() - tip.offsetWidth - 4) + 'px'; tip.style.top = Math.min(e.offsetY + 14, height() - tip.offsetHeight - 4) + 'px';
  };
  canvas.onpointerup = e => {
    const click = grab && !grab.moved; grab = null; canvas.classList.remove('grabbing'); canvas.focus();
    if (!click) return;
    if (e.offsetX < GUTTER) return;
    const i = under(e.offsetX, e.offsetY);
    if (i !== NONE) select(i, false);
    else if (!pickFromHeap(e.offsetX, e.offsetY)) select(NONE, false);
  };
  /// In a heap a click comes closer until there are single events.
  function pickFromHeap(x, y) {
    const row = Math.floor((y - AXIS + view.scroll) / rowHeight()); if (row < 0 || row >= lanes.length) return false;
    const list = job ? ofJob[lanes[row]] : eventsOf[lanes[row]];
    if (lowerBound(list, usOf(x + 3)) - lowerBound(list, usOf(x - 3)) === 0) return false;
    if (view.end - view.begin <= 40) { select(list[lowerBound(list, usOf(x - 3))], false); return true; }
    zoom(1 / 6, x); return true;
  }
  canvas.onpointerleave = () => { tip.style.display = 'none'; };
  canvas.addEventListener('wheel', e => {
    e.preventDefault();
    if (e.offsetX < GUTTER) scrollBy(e.deltaY);
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { const by = (e.deltaX || e.deltaY) / scale.slope; setAwake(view.begin + by, view.end + by); }
    else zoom(Math.exp(Math.max(-120, Math.min(120, e.deltaY)) * 0.003), e.offsetX);
  }, { passive: false });
  const overviewTo = e => { const all = folds.awake(duration), at = folds.awake(overviewScale().us(e.offsetX)), half = (view.end - view.begin) / 2, wide = half > all / 2.2 ? all / 20 : half; setAwake(at - wide, at + wide); };
  overview.onpointerdown = e => { overview.setPointerCapture(e.pointerId); overviewTo(e); }; overview.onpointermove = e => { if (e.buttons) overviewTo(e); };
  document.addEventListener('keydown', e => {
    if (e.target.tagName === 'INPUT' || e.ctrlKey || e.metaKey || e.altKey) return;
    const step = by => {
      if (selected === NONE) return; const list = job && run.jobOf[selected] === job ? ofJob.flat().sort((a, b) => a - b) : eventsOf[run.lane[selected]];
      const at = Array.prototype.indexOf.call(list, selected) + by; if (at >= 0 && at < list.length) select(list[at], true);
    };
    const keys = { '+': () => zoom(1 / 1.6), '=': () => zoom(1 / 1.6), '-': () => zoom(1.6), '0': fit, v: toViolation, b: toOpening, ArrowRight: () => step(1), ArrowLeft: () => step(-1), Escape: () => select(NONE, false), n: () => turn(1), N: () => turn(-1), '/': () => $('search').focus() };
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });

  // ---- the frame

  for (const row of $('verdict').children) row.replaceChildren(...linked(row.textContent).childNodes);
  const rows = new JobRows(goToJob);
  const jobs = new Map(); for (let i = 0; i < run.jobOf.length && jobs.size < 2000; ++i) if (run.jobOf[i]) jobs.set(run.jobOf[i], true);
  for (const id of jobs.keys()) { const option = element('option'); option.value = run.texts[id]; $('jobs').append(option); }
  FAMILIES.forEach(name => { const item = element('span'), dot = element('i'); dot.style.background = `var(--${name})`; item.append(dot, name); $('legend').append(item); });
  SPANS.forEach((name, s) => { const item = element('span'), bar = element('i', undefined, 'bar'); bar.style.background = `var(--${SPAN_COLOURS[s]})`; item.append(bar, name); $('legend').append(item); });
  $('job').onchange = () => { const id = run.texts.indexOf($('job').value.trim()); const known = id > 0 && jobs.has(id) || run.jobOf.includes(id); $('job').style.borderColor = $('job').value && !known ? 'var(--bad)' : ''; chooseJob(known && id > 0 ? id : 0); };
  document.querySelectorAll('#runs a[data-job]').forEach(a => {
    const id = run.texts.indexOf(a.dataset.job), first = id > 0 ? run.jobOf.indexOf(id) : NONE;
    if (first === NONE) { a.removeAttribute('data-job'); return; }  // thinned away
    a.tabIndex = 0; a.onclick = () => { chooseJob(id); select(first, true); $('stage').scrollIntoView({ block: 'nearest' }); };
    a.onkeydown = e => { if (e.key === 'Enter') a.onclick(); };
  });
  let pending = 0;  // a search that waits for the end of the word
  const searchNow = () => { clearTimeout(pending); pending = 0; search($('search').value); };
  $('search').oninput = () => { clearTimeout(pending); pending = setTimeout(searchNow, 200); };
  $('search').onkeydown = e => { if (e.key !== 'Enter') return; if (pending) searchNow(); turn(e.shiftKey ? -1 : 1); };
  $('next').onclick = () => turn(1); $('previous').onclick = () => turn(-1);
  $('only').onchange = wish; $('in').onclick = () => zoom(1 / 1.6); $('out').onclick = () => zoom(1.6); $('fit').onclick = fit;
  $('opening').textContent = run.opens[0]; $('opening').onclick = toOpening; $('opening').hidden = run.fact !== NONE || run.opens[0] === 'whole run';
  $('fold').onchange = () => fold($('fold').checked); $('fold').disabled = !run.folds.length;
  $('noise').onchange = () => showNoise($('noise').checked); $('noise').disabled = !run.noise.some(v => v);
  $('violation').onclick = toViolation; $('violation').disabled = run.fact === NONE;
  const prefers = matchMedia('(prefers-color-scheme: dark)');
  const paint = theme => { document.documentElement.dataset.theme = theme; readColours(); wish(); };
  $('theme').onclick = () => paint(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  prefers.onchange = () => paint(prefers.matches ? 'dark' : 'light');
  paint(prefers.matches ? 'dark' : 'light');
  let screenTheme = '';
  addEventListener('beforeprint', () => { screenTheme = document.documentElement.dataset.theme; paint('light'); draw(); });
  addEventListener('afterprint', () => paint(screenTheme));
  new ResizeObserver(() => { scrollBy(0); }).observe($('stage'));

  /// What the address asks for; false if it asks for nothing.
  function follow() {
    const wanted = /^#(\d+)$/.exec(location.hash), name = jobOfAddress(location.hash);
    if (name) goToJob(name);
    const i = wanted ? byNumber(+wanted[1]) : NONE;
    if (i !== NONE) { const at = folds.awake(run.us[i]); setAwake(at - 1e5, at + 1e5); select(i, true); }
    return name !== '' || wanted !== null;
  }
  addEventListener('hashchange', follow);
  layEvents(); fit(); details();
  if (!follow()) { if (run.fact !== NONE) toViolation(); else toOpening(); }
  document.body.dataset.ready = String(run.number.length);
}

inflated($('data').textContent.trim()).then(bytes => start(read(bytes))).catch(error => {
  $('verdict').append('The timeline cannot be shown: ' + error + '. It needs a browser of 2023 or later.');
});
