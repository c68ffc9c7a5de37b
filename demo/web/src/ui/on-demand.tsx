import { type ComponentType, lazy, type ReactElement, Suspense, useState } from 'react';

/** The properties of a button whose menu or dialog is not loaded yet. */
export interface Opener {
  'aria-haspopup': 'menu' | 'dialog';
  onClick: () => void;
  onPointerEnter: () => void;
  onFocus: () => void;
}

/**
 * Makes a component for a button with a menu or dialog that is loaded on first use. Until then, and if the load fails, only
 * the button is shown.
 */
export function onDemand<P extends object>(
  load: () => Promise<{ default: ComponentType<P> }>,
  Button: ComponentType<P & { opener: Opener }>,
  kind: Opener['aria-haspopup'] = 'menu',
): (props: P) => ReactElement {
  const still: Opener = {
    'aria-haspopup': kind,
    onClick: () => undefined,
    onPointerEnter: () => undefined,
    onFocus: () => undefined,
  };
  const Unloaded = (props: P) => <Button {...props} opener={still} />;
  const Menu = lazy<ComponentType<P>>(() => load().catch(() => ({ default: Unloaded })));
  const warm = () => void load().catch(() => undefined);
  return function OnDemand(props: P) {
    const [isWanted, setWanted] = useState(false);
    const opener: Opener = { ...still, onClick: () => setWanted(true), onPointerEnter: warm, onFocus: warm };
    if (!isWanted) return <Button {...props} opener={opener} />;
    return (
      <Suspense fallback={<Unloaded {...props} />}>
        <Menu {...props} />
      </Suspense>
    );
  };
}
