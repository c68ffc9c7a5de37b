import { Settings2 } from 'lucide-react';
import type { ComponentProps, RefObject } from 'react';
import type { WhileBusy } from '../composer/while-busy.ts';
import { useMessages } from '../i18n/language.tsx';
import type { PanelName } from '../panel/panels.ts';
import type { Theme } from '../theme/theme.ts';
import { IconButton } from '../ui/icon-button.tsx';

/** The values and callbacks of the settings menu. */
export interface Settings {
  button: RefObject<HTMLButtonElement | null>;
  theme: Theme;
  onTheme: (theme: Theme) => void;
  whileBusy: WhileBusy;
  onWhileBusy: (whileBusy: WhileBusy) => void;
  onPanel: (panel: PanelName) => void;
  onClear: () => void;
  canClear: boolean;
}

/** The button that opens the settings. */
export function SettingsButton({
  button,
  ref,
  ...rest
}: { button: RefObject<HTMLButtonElement | null> } & ComponentProps<'button'>) {
  const { settings } = useMessages();
  // Once the menu is loaded, it passes a ref of its own for the button.
  const hold = (node: HTMLButtonElement | null) => {
    button.current = node;
    if (typeof ref === 'function') return ref(node);
    if (ref) ref.current = node;
  };
  return (
    <IconButton {...rest} ref={hold} label={settings.title}>
      <Settings2 className="size-4.5" />
    </IconButton>
  );
}
