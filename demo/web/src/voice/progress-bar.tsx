/** A bar that shows how much of a download has arrived. */
export function ProgressBar({ label, bytes, total }: { label: string; bytes: number; total: number }) {
  const percent = (100 * bytes) / Math.max(1, total);
  return (
    <span className="h-1.5 w-full overflow-hidden rounded-full bg-sunken">
      <span
        role="progressbar"
        aria-label={label}
        aria-valuenow={Math.round(percent)}
        style={{ width: `${percent}%` }}
        className="block h-full rounded-full bg-accent transition-[width]"
      />
    </span>
  );
}
