
// ---- folded time -----------------------------------------------------------------------------------------------------
// "Awake" time is virtual time with the folded gaps taken out: views are chosen in it. On the screen each fold takes the same
// few pixels, however long it was and however close one looks.

const FOLD_WIDTH = 34;

class Folds {
  constructor(list) {
    this.list = list; this.removed = [0];  // before each fold
    for (const [from, to] of list) this.removed.push(this.removed[this.removed.length - 1] + to - from);
  }
  at(k) { return this.list[k][0] - this.removed[k]; }  // in awake time
  /// How many begin before this.
  count(us, begin = k => this.list[k][0]) {
    let low = 0, high = this.list.length;
    while (low < high) { const mid = (low + high) >> 1; if (begin(mid) < us) low = mid + 1; else high = mid; }
    return low;
  }
  awake(us) { const k = this.count(us); return k && us < this.list[k - 1][1] ? this.at(k - 1) : us - this.removed[k]; }
  virtual(awake) { return awake + this.removed[this.count(awake, k => this.at(k))]; }
  /// The fold that this lies in, or null.
  around(us) { const k = this.count(us); return k && us < this.list[k - 1][1] ? this.list[k - 1] : null; }
}

/// Between virtual time and pixels: straight lines between a few points.
class FoldedScale {
  constructor(folds, from, to, left, right) {
    let first = 0; while (first < folds.list.length && folds.at(first) < from) ++first;
    let end = first; while (end < folds.list.length && folds.at(end) <= to) ++end;
    const mark = Math.min(FOLD_WIDTH, (right - left) / 2 / Math.max(end - first, 1));
    this.slope = (right - left - mark * (end - first)) / Math.max(to - from, 1e-9);
    this.marks = []; this.points = [[left, folds.virtual(from)]];  // pixels and time
    for (let k = first; k < end; ++k) {
      const x = left + (folds.at(k) - from) * this.slope + (k - first) * mark, [begin, stop] = folds.list[k];
      this.marks.push({ x, width: mark, from: begin, to: stop });
      this.points.push([x, begin], [x + mark, stop]);
    }
    this.points.push([right, Math.max(folds.virtual(to), this.points[this.points.length - 1][1])]);
  }
  between(value, own, other, slope) {
    const points = this.points, last = points.length - 1;
    if (value <= points[0][own]) return points[0][other] + (value - points[0][own]) * slope;
    if (value >= points[last][own]) return points[last][other] + (value - points[last][own]) * slope;
    let low = 0, high = last;
    while (high - low > 1) { const mid = (low + high) >> 1; if (points[mid][own] <= value) low = mid; else high = mid; }
    const a = points[low], b = points[high];
    return a[other] + (value - a[own]) / (b[own] - a[own]) * (b[other] - a[other]);
  }
  x(us) { return this.between(us, 1, 0, this.slope); }
  us(x) { return this.between(x, 0, 1, 1 / this.slope); }
  markUnder(x) { return this.marks.find(mark => mark.x <= x && x < mark.x + mark.width) || null; }
}

/// As exact as it is read: "0.250s", "9m12s", "2h05m".
function lengthOf(us) {
  const seconds = Math.floor(us / 1e6), two = n => String(n).padStart(2, '0');
  if (seconds < 60) return (us / 1e6).toFixed(3) + 's';
  if (seconds < 3600) return Math.floor(seconds / 60) + 'm' + two(seconds % 60) + 's';
  return Math.floor(seconds / 3600) + 'h' + two(Math.floor(seconds / 60) % 60) + 'm';
}
