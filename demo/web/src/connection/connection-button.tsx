import type { ConnectionState } from 'duologue/client';
import type { Mode } from 'duologue/react';
import { ChevronDown } from 'lucide-react';
import type { ComponentProps } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { ConnectionBadge } from './badge.tsx';

/**
 * The mode in force and the state of the connection. If the user chose another mode (`wanted`), that mode takes
 * effect after the current answer.
 */
export interface Travel {
  mode: Mode;
  wanted: Mode;
  connection: ConnectionState;
  onChange: (mode: Mode) => void;
}

/** The button that shows the state of the connection and opens the choice of the mode. */
export function ConnectionButton({
  mode,
  wanted,
  connection,
  ...rest
}: Omit<Travel, 'onChange'> & Omit<ComponentProps<'button'>, 'onChange'>) {
  const { mode: words } = useMessages();
  return (
    <button
      type="button"
      {...rest}
      data-mode={mode}
      className={`inline-flex h-9 shrink-0 items-center gap-1.5 rounded-lg px-2.5 text-xs text-soft transition-colors hover:bg-sunken hover:text-ink aria-expanded:bg-sunken ${wanted === mode ? '' : 'animate-pulse'}`}
    >
      <span className="sr-only">{words.label}: </span>
      <ConnectionBadge mode={mode} wanted={wanted} connection={connection} />
      <ChevronDown className="size-3.5" aria-hidden="true" />
    </button>
  );
}
