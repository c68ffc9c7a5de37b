import './native-abort.ts';
import { StrictMode, useEffect } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { afterEach } from 'vitest';
import { WebSocket } from 'ws';
import type { Message } from '../../../src/protocol/index.ts';
import { type UseDuologueHelpers, type UseDuologueOptions, useDuologue } from '../../../src/react/index.ts';

/** A mounted page with the hook, and a record of its network requests. */
export interface Page {
  /** What the hook returned last. */
  readonly now: UseDuologueHelpers;
  /** Sockets that were ever opened. */
  readonly sockets: WebSocket[];
  /** The bodies that were posted to `/stream`. */
  readonly posts: { messages: Message[] }[];
  /** Renders the page again with other options. */
  update(options: Partial<UseDuologueOptions>): void;
  /** Resolves when the condition holds; checked again after every render. */
  until(condition: (now: UseDuologueHelpers) => boolean): Promise<UseDuologueHelpers>;
  /** Resolves when the answer has this text and is complete. */
  texts(words: string): Promise<UseDuologueHelpers>;
  /** Resolves when the agent asks for a decision. */
  asked(): Promise<UseDuologueHelpers>;
  /** Resolves when the turn is over or waits for the user. */
  rest(): Promise<UseDuologueHelpers>;
  unmount(): void;
}

const mounted = new Set<Page>();

afterEach(() => {
  for (const page of mounted) page.unmount();
});

/** Mounts a page and unmounts it after the test. */
export function mount(first: UseDuologueOptions & { isStrict?: boolean }): Page {
  const { isStrict = false, ...rest } = first;
  const sockets: WebSocket[] = [];
  const posts: Page['posts'] = [];
  const waiting = new Set<() => void>();
  let now: UseDuologueHelpers | undefined;
  class CountedSocket extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      sockets.push(this);
    }
  }
  let options: UseDuologueOptions = {
    WebSocket: CountedSocket,
    fetch: (input, init) => {
      if (init?.method === 'POST' && String(input).endsWith('/stream'))
        posts.push(JSON.parse(String(init.body)));
      return fetch(input, init);
    },
    ...rest,
  };
  function Hook({ given }: { given: UseDuologueOptions }): null {
    const helpers = useDuologue(given);
    useEffect(() => {
      now = helpers;
      for (const check of [...waiting]) check();
    });
    return null;
  }
  const root = createRoot(document.createElement('div'));
  const draw = () => {
    const hook = <Hook given={options} />;
    root.render(isStrict ? <StrictMode>{hook}</StrictMode> : hook);
  };
  const page: Page = {
    get now() {
      if (!now) throw new Error('The page is not drawn yet.');
      return now;
    },
    sockets,
    posts,
    update(change) {
      options = { ...options, ...change };
      draw();
    },
    until: (condition) =>
      new Promise((resolve) => {
        const check = () => {
          if (!now || !condition(now)) return;
          waiting.delete(check);
          resolve(now);
        };
        waiting.add(check);
        check();
      }),
    texts: (words) =>
      page.until(
        ({ status, messages }) =>
          status === 'ready' && messages.some((message) => brief(message).includes(words)),
      ),
    asked: () => page.until(({ approvals }) => approvals.length > 0),
    rest: () =>
      page.until(({ status, messages }) => status === 'ready' && messages.at(-1)?.role === 'assistant'),
    unmount() {
      mounted.delete(page);
      root.unmount();
    },
  };
  mounted.add(page);
  flushSync(draw);
  return page;
}

/** A message in short: who, and what in each part. Texts that follow each other are one: a server may cut them anywhere. */
function brief({ role, parts }: Message): unknown[] {
  const short: unknown[] = [role];
  let hasText = false;
  for (const part of parts) {
    if (part.type === 'text') {
      if (hasText) short.push(String(short.pop()) + part.text);
      else short.push(part.text);
      hasText = true;
    } else if ('toolCallId' in part) {
      const { type, state, output, errorText } = part as Record<string, unknown>;
      const reported = [String(type).replace('tool-', ''), state, output ?? errorText];
      short.push(reported.filter((one) => one !== undefined));
      hasText = false;
    }
  }
  return short;
}

/** All messages in short. */
export const story = ({ messages }: UseDuologueHelpers): unknown[] => messages.map(brief);

/** The first pending approval. */
export function firstApproval({ approvals }: UseDuologueHelpers) {
  const [approval] = approvals;
  if (!approval) throw new Error('Nothing asks for approval.');
  return approval;
}
