import { Tooltip } from 'radix-ui';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { LanguageProvider } from './i18n/language.tsx';
import './styles.css';
import { paintTheme } from './theme/theme.ts';
import { Announcer } from './ui/announcer.tsx';
import { watchInput } from './ui/watch-input.ts';
import { WireProvider } from './wire/wire.tsx';

paintTheme();
watchInput();
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <LanguageProvider>
        <Tooltip.Provider delayDuration={400}>
          <Announcer>
            <WireProvider>
              <App />
            </WireProvider>
          </Announcer>
        </Tooltip.Provider>
      </LanguageProvider>
    </StrictMode>,
  );
}
