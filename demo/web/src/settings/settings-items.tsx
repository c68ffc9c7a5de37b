import { Monitor, Moon, PanelRight, Sun, Trash2 } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useRef } from 'react';
import type { WhileBusy } from '../composer/while-busy.ts';
import { type Language, languages, useLanguage } from '../i18n/language.tsx';
import { PANEL } from '../panel/side-panel.tsx';
import type { Theme } from '../theme/theme.ts';
import { Choice, ChoiceGroup, MENU, MENU_ITEM, MenuLine } from '../ui/choice-menu.tsx';
import { type Settings, SettingsButton } from './settings-button.tsx';

const THEMES = [
  { id: 'light', icon: Sun },
  { id: 'dark', icon: Moon },
  { id: 'system', icon: Monitor },
] as const;

/** The items of the settings: appearance, language, side panels, and deleting the conversation. */
export default function SettingsMenu({
  button,
  theme,
  onTheme,
  whileBusy,
  onWhileBusy,
  onPanel,
  onClear,
  canClear,
}: Settings) {
  const { messages, language, setLanguage } = useLanguage();
  const { settings, sessions } = messages;
  const opensPanel = useRef(false);
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>
        <SettingsButton button={button} />
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
        className={`w-64 ${MENU}`}
      >
        <ChoiceGroup label={settings.theme} value={theme} onChange={(value) => onTheme(value as Theme)}>
          {THEMES.map(({ id, icon: Icon }) => (
            <Choice key={id} value={id}>
              <Icon className="size-4 text-soft" aria-hidden="true" />
              {settings[id]}
            </Choice>
          ))}
        </ChoiceGroup>
        <MenuLine />
        <ChoiceGroup
          label={settings.language}
          value={language}
          onChange={(value) => setLanguage(value as Language)}
        >
          {languages.map(({ id, name }) => (
            <Choice key={id} value={id}>
              <span lang={id}>{name}</span>
            </Choice>
          ))}
        </ChoiceGroup>
        <MenuLine />
        <ChoiceGroup
          label={settings.enter}
          value={whileBusy}
          onChange={(value) => onWhileBusy(value as WhileBusy)}
        >
          <Choice value="queue">{settings.enterQueue}</Choice>
          <Choice value="interrupt">{settings.enterInterrupt}</Choice>
        </ChoiceGroup>
        <MenuLine />
        <DropdownMenu.Item
          onSelect={() => {
            opensPanel.current = true;
            onPanel('audit');
          }}
          className={MENU_ITEM}
        >
          <PanelRight className="size-4 text-soft" aria-hidden="true" />
          {settings.audit}
        </DropdownMenu.Item>
        <DropdownMenu.Item onSelect={onClear} disabled={!canClear} className={`${MENU_ITEM} text-bad`}>
          <Trash2 className="size-4" aria-hidden="true" />
          {sessions.clear}
        </DropdownMenu.Item>
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}
