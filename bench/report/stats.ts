/** The median of the values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which that share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).sort();
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

/** A median with the range of its values. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

/** The median of some values and their range. */
export function spread(values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) };
}

/** Whether the A/A ratio (the same variant measured twice) is close enough to 1 for the run to be valid. */
export function isQuiet(ratio: number): boolean {
  return ratio >= 0.9 && ratio <= 1.1;
}
