import { Check, Monitor, Moon, PanelRight, Settings2, Sun, Trash2 } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { type ReactNode, type RefObject, useRef } from 'react';
import { type Language, languages, useLanguage } from '../i18n/language.tsx';
import { PANELS, type PanelName } from '../panel/panels.ts';
import { PANEL } from '../panel/side-panel.tsx';
import type { Theme } from '../theme/theme.ts';
import { IconButton } from '../ui/icon-button.tsx';

const THEMES = [
  { id: 'light', icon: Sun },
  { id: 'dark', icon: Moon },
  { id: 'system', icon: Monitor },
] as const;

const ITEM =
  'flex items-center gap-3 rounded-lg px-3 py-2 outline-none select-none data-highlighted:bg-sunken data-disabled:opacity-50';

/** How the page looks and speaks, what stands beside the conversation, and how to be rid of it. */
export function SettingsMenu({
  button,
  theme,
  onTheme,
  onPanel,
  onClear,
  canClear,
}: {
  button: RefObject<HTMLButtonElement | null>;
  theme: Theme;
  onTheme: (theme: Theme) => void;
  onPanel: (panel: PanelName) => void;
  onClear: () => void;
  canClear: boolean;
}) {
  const { messages, language, setLanguage } = useLanguage();
  const { settings, sessions } = messages;
  const opensPanel = useRef(false);
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <IconButton ref={button} label={settings.title}>
          <Settings2 className="size-4.5" />
        </IconButton>
      </DropdownMenu.Trigger>
      <DropdownMenu.Content
        align="end"
        onCloseAutoFocus={(event) => {
          if (!opensPanel.current) return;
          opensPanel.current = false;
          event.preventDefault();
          document.getElementById(PANEL)?.focus();
        }}
        sideOffset={8}
        collisionPadding={12}
        className="z-50 w-60 animate-fade rounded-2xl border border-line bg-surface p-1.5 text-sm shadow-float"
      >
        <Group label={settings.theme} value={theme} onChange={(value) => onTheme(value as Theme)}>
          {THEMES.map(({ id, icon: Icon }) => (
            <Choice key={id} value={id}>
              <Icon className="size-4 text-soft" aria-hidden="true" />
              {settings[id]}
            </Choice>
          ))}
        </Group>
        <DropdownMenu.Separator className="my-1.5 h-px bg-line" />
        <Group
          label={settings.language}
          value={language}
          onChange={(value) => setLanguage(value as Language)}
        >
          {languages.map(({ id, name }) => (
            <Choice key={id} value={id}>
              <span lang={id}>{name}</span>
            </Choice>
          ))}
        </Group>
        <DropdownMenu.Separator className="my-1.5 h-px bg-line" />
        {PANELS.map((name) => (
          <DropdownMenu.Item
            key={name}
            onSelect={() => {
              opensPanel.current = true;
              onPanel(name);
            }}
            className={ITEM}
          >
            <PanelRight className="size-4 text-soft" aria-hidden="true" />
            {settings[name]}
          </DropdownMenu.Item>
        ))}
        <DropdownMenu.Item onSelect={onClear} disabled={!canClear} className={`${ITEM} text-bad`}>
          <Trash2 className="size-4" aria-hidden="true" />
          {sessions.clear}
        </DropdownMenu.Item>
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}

function Group({
  label,
  value,
  onChange,
  children,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: ReactNode;
}) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={onChange} aria-label={label}>
      <DropdownMenu.Label className="px-3 py-1.5 text-xs font-medium text-soft">{label}</DropdownMenu.Label>
      {children}
    </DropdownMenu.RadioGroup>
  );
}

function Choice({ value, children }: { value: string; children: ReactNode }) {
  return (
    <DropdownMenu.RadioItem value={value} className={ITEM}>
      {children}
      <DropdownMenu.ItemIndicator className="ml-auto">
        <Check className="size-4 text-accent" aria-hidden="true" />
      </DropdownMenu.ItemIndicator>
    </DropdownMenu.RadioItem>
  );
}
