'use client';

import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useState } from 'react';

export default function Page() {
  const [text, setText] = useState('');
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    transport: new DefaultChatTransport({ api: '/api/stream' }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });

  return (
    <main>
      {messages.map((message) => (
        <article key={message.id}>
          <strong>{message.role}</strong>
          {message.parts.map((part, index) => {
            const key = `${message.id}-${index}`;
            if (part.type === 'text') return <p key={key}>{part.text}</p>;
            if (!isToolUIPart(part)) return null;
            if (part.state !== 'approval-requested')
              return <pre key={key}>{`${part.type}: ${part.state}`}</pre>;
            const answer = (approved: boolean) => addToolApprovalResponse({ id: part.approval.id, approved });
            return (
              <fieldset key={key}>
                <legend>{`${part.type} ${JSON.stringify(part.input)}`}</legend>
                <button type="button" onClick={() => answer(true)}>
                  Approve
                </button>
                <button type="button" onClick={() => answer(false)}>
                  Deny
                </button>
              </fieldset>
            );
          })}
        </article>
      ))}
      {error !== undefined && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text });
          setText('');
        }}
      >
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button type="submit" disabled={status !== 'ready' || text === ''}>
          Send
        </button>
      </form>
    </main>
  );
}
