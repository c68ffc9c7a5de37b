import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';

/** Makes screen readers read a text: at once, or after what they are reading now. */
type Announce = (text: string, isUrgent?: boolean) => void;

const Context = createContext<Announce>(() => undefined);

/** Provides `useAnnounce`, and the live regions whose texts screen readers read aloud. */
export function Announcer({ children }: { children: ReactNode }) {
  const [urgent, setUrgent] = useState({ text: '', count: 0 });
  const [calm, setCalm] = useState({ text: '', count: 0 });
  const announce = useCallback<Announce>((text, isUrgent = true) => {
    const set = isUrgent ? setUrgent : setCalm;
    set(({ count }) => ({ text, count: count + 1 }));
  }, []);
  return (
    <Context value={announce}>
      {children}
      <div role="alert" aria-live="assertive" aria-atomic className="sr-only">
        <span key={urgent.count}>{urgent.text}</span>
      </div>
      <div role="status" aria-live="polite" aria-atomic className="sr-only">
        <span key={calm.count}>{calm.text}</span>
      </div>
    </Context>
  );
}

/** The function that makes screen readers read a text. */
export function useAnnounce(): Announce {
  return useContext(Context);
}
