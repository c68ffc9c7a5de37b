import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';

const Context = createContext<(text: string) => void>(() => undefined);

/** Holds the region from which screen readers are told what happened out of their sight. */
export function Announcer({ children }: { children: ReactNode }) {
  const [said, setSaid] = useState({ text: '', count: 0 });
  const announce = useCallback((text: string) => setSaid(({ count }) => ({ text, count: count + 1 })), []);
  return (
    <Context value={announce}>
      {children}
      <div role="status" aria-live="assertive" aria-atomic className="sr-only">
        <span key={said.count}>{said.text}</span>
      </div>
    </Context>
  );
}

/** Says a sentence to screen readers. */
export function useAnnounce(): (text: string) => void {
  return useContext(Context);
}
