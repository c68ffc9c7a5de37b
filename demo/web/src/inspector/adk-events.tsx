import { ChevronRight, RefreshCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { number } from '../i18n/format.ts';
import { useLanguage } from '../i18n/language.tsx';
import { usePanelTexts } from '../i18n/panels.ts';
import { Button } from '../ui/button.tsx';
import { Json } from './json.tsx';
import type { WireSource } from './row-log.ts';
import { type AdkEvent, useAdkEvents } from './use-adk-events.ts';

/** Lists the ADK events of a session, as the server has stored them. */
export function AdkEvents({ sessionId, source }: { sessionId: string; source: WireSource }) {
  const words = usePanelTexts().inspector;
  const { language } = useLanguage();
  const { events, problem, refresh } = useAdkEvents(sessionId, source);
  if (problem === 'off') return <Note text={words.eventsOff} />;
  if (problem === 'failed') {
    return (
      <Note text={words.eventsFailed}>
        <Button onClick={refresh}>{words.refresh}</Button>
      </Note>
    );
  }
  return (
    <div className="flex h-full flex-col">
      <div className="flex items-center justify-between border-b border-line py-1 pr-2 pl-4 text-xs text-soft">
        {words.eventCount(number(events.length, language))}
        <Button look="plain" onClick={refresh} className="min-h-8 px-2">
          <RefreshCw className="size-3.5" aria-hidden="true" />
          {words.refresh}
        </Button>
      </div>
      {events.length === 0 ? <Note text={words.noEvents} /> : null}
      <ol className="min-h-0 grow overflow-y-auto">
        {events.map((event, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the place is what an event is known by
          <li key={index} className="border-b border-line">
            <details className="group">
              <summary className="flex items-center gap-2 px-3 py-2 text-xs hover:bg-sunken">
                <ChevronRight
                  className="size-3.5 shrink-0 text-soft transition-transform group-open:rotate-90"
                  aria-hidden="true"
                />
                <span className="shrink-0 text-soft tabular-nums">{timeOf(event, language)}</span>
                <span
                  className={`shrink-0 font-medium ${event.author === 'user' ? 'text-good' : 'text-info'}`}
                >
                  {event.author}
                </span>
                <span className="min-w-0 truncate font-mono">{summaryOf(event)}</span>
              </summary>
              <div className="px-4 pb-3">
                <Json text={JSON.stringify(event)} />
              </div>
            </details>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** A note in place of an empty list. */
export function Note({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <div className="space-y-3 p-4 text-sm text-soft">
      <p>{text}</p>
      {children}
    </div>
  );
}

function timeOf({ timestamp }: AdkEvent, language: string): string {
  return timestamp === undefined ? '' : new Date(timestamp).toLocaleTimeString(language);
}

function summaryOf(event: AdkEvent): string {
  const texts = (event.content?.parts ?? []).map(({ text, functionCall, functionResponse, inlineData }) => {
    if (functionCall) return `${functionCall.name}(${JSON.stringify(functionCall.args ?? {})})`;
    if (functionResponse)
      return `${functionResponse.name} → ${JSON.stringify(functionResponse.response ?? null)}`;
    return text ?? inlineData?.mimeType ?? '';
  });
  return texts.join(' ').trim() || event.errorMessage || signsOf(event);
}

/** Describes an event without content: the state that it changes, and its flags for the turn. */
function signsOf(event: AdkEvent): string {
  const state = Object.keys(event.actions?.stateDelta ?? {});
  const signs = (['turnComplete', 'interrupted'] as const).filter((sign) => event[sign] === true);
  const metadata = Object.keys(event.customMetadata ?? {});
  return [...state, ...signs, ...metadata].join(', ');
}
