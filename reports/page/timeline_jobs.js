
// ---- the table of the jobs -------------------------------------------------------------------------------------------
// A job is chosen by a click on its row, with Enter, or by the address of the page (#job:NAME).

class JobRows {
  /// `choose` is called with the name of a job.
  constructor(choose) {
    this.rows = new Map();
    for (const row of document.querySelectorAll('#job-bars tr[data-job]')) {
      const name = row.dataset.job; this.rows.set(name, row); row.tabIndex = 0;
      row.onclick = e => { e.preventDefault(); choose(name); };
      row.onkeydown = e => {
        const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[e.key];
        if (e.key === 'Enter') choose(name); else if (next) next.focus(); else return;
        e.preventDefault();
      };
    }
  }
  /// Of this job only; of none for ''.
  mark(name) {
    for (const [other, row] of this.rows) {
      row.classList.toggle('chosen', other === name);
      if (other === name) row.scrollIntoView({ block: 'nearest' });
    }
  }
}

function jobOfAddress(hash) {
  if (!hash.startsWith('#job:')) return '';
  try { return decodeURIComponent(hash.slice(5)); } catch { return ''; }
}
