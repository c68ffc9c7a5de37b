import { useDuologue } from 'duologue/react';
import { createElement, version } from 'react';
import { createRoot } from 'react-dom/client';

/** A page with our hook, in whichever React it is built with. */
function Page({ mode }: { mode: 'sse' | 'bidi' }) {
  const chat = useDuologue({ url: '/', mode, tools: { get_location: () => ({ city: 'Kyoto' }) } });
  const texts = chat.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'text' ? part.text : [])),
  );
  const [card] = chat.approvals;
  return createElement(
    'main',
    null,
    createElement('h1', null, version),
    createElement('output', null, texts.join(' ')),
    createElement(
      'button',
      { id: 'ask', type: 'button', onClick: () => void chat.sendMessage({ text: 'get_location' }) },
      'Ask',
    ),
    card &&
      createElement(
        'button',
        { id: 'approve', type: 'button', onClick: () => void chat.approve(card) },
        'Approve',
      ),
  );
}

const mode = location.hash === '#sse' ? 'sse' : 'bidi';
createRoot(document.body).render(createElement(Page, { mode }));
