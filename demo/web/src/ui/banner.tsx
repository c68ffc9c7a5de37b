import type { ReactNode } from 'react';
import { handFocusOn } from '../composer/focus-box.ts';

/** A line above the message box: a problem or a hint, with buttons for what the user can do. */
export function Banner({
  id,
  icon,
  text,
  look,
  children,
}: {
  id: string;
  icon: ReactNode;
  text: string;
  look: string;
  children?: ReactNode;
}) {
  return (
    <div
      ref={handFocusOn}
      role="status"
      aria-live="polite"
      data-testid={id}
      className={`mb-2 flex animate-rise flex-wrap items-center gap-x-3 gap-y-2 rounded-2xl border px-4 py-2 text-sm ${look}`}
    >
      <span aria-hidden="true">{icon}</span>
      <span className="min-w-48 grow basis-0 tabular-nums">{text}</span>
      {children}
    </div>
  );
}
