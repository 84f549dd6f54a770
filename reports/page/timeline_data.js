'use strict';
// The run as it stands in the page: columns of numbers, inflated and read into typed arrays.

const FAMILIES = ['call', 'effect', 'answer', 'message', 'lock', 'state', 'life', 'fault', 'other'];
const SPANS = ['lock held', 'waits for an ack', 'fault', 'down', 'paused'];
const SPAN_COLOURS = ['lockbar', 'ackbar', 'faultband', 'downband', 'pausedband'];
const NONE = -1;

async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  number() {
    let value = 0, scale = 1, byte;
    do { byte = this.bytes[this.at++]; value += (byte & 127) * scale; scale *= 128; } while (byte & 128);
    return value;
  }
  signed() { const v = this.number(); return v % 2 ? -(v + 1) / 2 : v / 2; }
  column(Type, n, step) { const out = new Type(n); for (let i = 0; i < n; ++i) out[i] = step(out, i, this.number()); return out; }
}

function read(bytes) {
  const reader = new Reader(bytes);
  const size = reader.number();
  const run = JSON.parse(new TextDecoder().decode(bytes.subarray(reader.at, reader.at + size)));
  reader.at += size;
  const n = run.events;
  const plain = (out, i, v) => v, sum = (out, i, v) => (i ? out[i - 1] : 0) + v;
  run.number = reader.column(Float64Array, n, sum);
  run.us = reader.column(Float64Array, n, sum);
  run.lane = reader.column(Uint16Array, n, plain);
  const kinds = reader.column(Uint8Array, n, plain);
  run.family = kinds.map(v => v & 15); run.noise = kinds.map(v => v >> 4);
  run.what = reader.column(Uint32Array, n, plain);
  run.jobOf = reader.column(Uint32Array, n, plain);
  const raw = [0, 1, 2, 3].map(() => reader.column(Uint32Array, n, plain));
  const threads = new Map(), lives = new Int32Array(run.lanes.length).fill(NONE), width = run.texts.length;
  run.parents = [0, 1, 2, 3].map(() => new Int32Array(n));
  for (let i = 0; i < n; ++i) {
    const lane = run.lane[i], key = lane * width + run.jobOf[i];
    const usual = [run.jobOf[i] && threads.has(key) ? threads.get(key) : NONE, NONE, NONE, lives[lane]];
    for (let c = 0; c < 4; ++c) { const v = raw[c][i]; run.parents[c][i] = v === 0 ? usual[c] : v === 1 ? NONE : i - v + 1; }
    if (run.jobOf[i]) threads.set(key, i);
    if (FAMILIES[run.family[i]] === 'life') lives[lane] = i;
    else if (run.parents[3][i] !== NONE) lives[lane] = run.parents[3][i];
  }
  const b = run.bars;
  const span = reader.column(Uint8Array, b, plain), lane = reader.column(Int32Array, b, (o, i, v) => v - 1);
  const begin = new Float64Array(b); for (let i = 0; i < b; ++i) begin[i] = (i ? begin[i - 1] : 0) + reader.signed();
  const length = reader.column(Float64Array, b, plain), what = reader.column(Uint32Array, b, plain), job = reader.column(Uint32Array, b, plain);
  run.barsOf = run.lanes.map(() => []); run.barsOfAll = [];
  for (let i = 0; i < b; ++i) {
    const bar = { span: span[i], lane: lane[i], from: begin[i], to: begin[i] + length[i], what: what[i], job: job[i] };
    (bar.lane < 0 ? run.barsOfAll : run.barsOf[bar.lane]).push(bar);
  }
  for (const bars of [...run.barsOf, run.barsOfAll]) {  // the longest so far, to know where to begin to look
    bars.sort((x, y) => x.from - y.from);
    let reach = 0; for (const bar of bars) { reach = Math.max(reach, bar.to - bar.from); bar.reach = reach; }
  }
  const counts = new Uint32Array(run.lanes.length); for (let i = 0; i < n; ++i) ++counts[run.lane[i]];
  run.eventsOf = Array.from(counts, c => new Uint32Array(c)); counts.fill(0);
  for (let i = 0; i < n; ++i) run.eventsOf[run.lane[i]][counts[run.lane[i]]++] = i;
  return run;
}
