import type { ComponentProps } from 'react';

const LOOKS = {
  // In forced-colours mode the browser removes the background, and only the border is visible.
  accent: 'border border-transparent bg-accent text-on-accent hover:bg-accent-hover',
  quiet: 'border border-line-strong bg-surface text-ink hover:bg-sunken',
  danger: 'border border-bad-line bg-surface text-bad hover:bg-bad-tint',
  link: 'text-accent hover:bg-accent-tint',
  plain: 'text-soft hover:bg-sunken hover:text-ink',
} as const;

/** A button with a text. */
export function Button({
  look = 'quiet',
  className = '',
  ...rest
}: ComponentProps<'button'> & { look?: keyof typeof LOOKS }) {
  return (
    <button
      type="button"
      {...rest}
      className={`inline-flex min-h-10 pointer-coarse:min-h-11! items-center justify-center gap-2 rounded-lg px-4 text-sm font-medium whitespace-nowrap transition-colors disabled:opacity-60 print:hidden ${LOOKS[look]} ${className}`}
    />
  );
}
