/** The difference between `performance.now()` of this process and the machine's monotonic clock, in milliseconds. */
function offset(): number {
  let best = { gap: Number.POSITIVE_INFINITY, offset: 0 };
  for (let time = 0; time < 200; time++) {
    const before = performance.now();
    const shared = Number(process.hrtime.bigint()) / 1e6;
    const after = performance.now();
    // The smaller the gap between the two readings, the less likely the process was preempted between them.
    if (after - before < best.gap) best = { gap: after - before, offset: shared - before };
  }
  return best.offset;
}

const OFFSET = offset();

/** Milliseconds on a clock that all processes of a machine share. */
export function now(): number {
  return performance.now() + OFFSET;
}
