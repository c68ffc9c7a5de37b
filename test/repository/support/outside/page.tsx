/** The page of a user that has the packed library: types of messages, approvals, browser tools and questions, and the mistakes that the compiler finds. */
import { useChat } from '@ai-sdk/react';
import type { InferUITools, UIMessage } from 'ai';
import { DuologueSseTransport, DuologueTransport, type Executor, resumeWhen } from 'duologue/client';
import {
  type Message,
  type PendingApproval,
  type PendingQuestion,
  type TransientData,
  type UseDuologueHelpers,
  type UseDuologueOptions,
  useDuologue,
} from 'duologue/react';
import type { data, tools } from './tools.ts';

interface Fields {
  page?: string;
  drawn?: { unsent: number };
}
type Chat = UseDuologueHelpers<typeof tools, typeof data, Fields>;
type ChatMessage = Message<typeof tools, typeof data, Fields>;

export const get_location: Executor<Record<string, never>, { latitude: number }> = (_input, { signal }) => ({
  latitude: signal.aborted ? 0 : 35,
});
const executors = { get_location, play: ({ track }: { track: number }) => ({ playing: track }) };
const options: UseDuologueOptions<typeof tools, typeof data, Fields> = {
  url: '/',
  mode: 'bidi',
  tools: executors,
  onFinish: ({ message }) => message.metadata?.drawn?.unsent.toFixed(),
  onError: (error) => error.message,
};

/** A component of its own for an approval, typed by the tool. */
function Approval({ approval, chat }: { approval: PendingApproval<typeof tools>; chat: Chat }) {
  const text = approval.toolName === 'pay' ? approval.input.amount.toFixed(2) : approval.toolName;
  // @ts-expect-error: only the input of the tool `pay` has an amount.
  const untested = () => approval.input.amount;
  return (
    <p>
      <button
        type="button"
        onClick={() => chat.approve(approval, 'fine', { checked: true })}
        onBlur={untested}
      >
        {approval.message ?? text}
      </button>
      <button type="button" onClick={() => chat.deny(approval, 'too much')} onBlur={() => chat.interrupt()}>
        {approval.expiresAt}
      </button>
    </p>
  );
}

function Question({ question, chat }: { question: PendingQuestion; chat: Chat }) {
  return (
    <button
      type="button"
      onClick={() => chat.answer(question, { city: 'Kyoto' })}
      onBlur={() => chat.decline(question)}
    >
      {question.message} {JSON.stringify(question.schema)} {question.expiresAt}
    </button>
  );
}

function Part({ part }: { part: ChatMessage['parts'][number] }) {
  if (part.type === 'data-chart') return <p>{part.data.values.map((value) => value.toFixed())}</p>;
  if (part.type === 'file') return <a href={part.url}>{part.mediaType}</a>;
  if (part.type === 'tool-print' && part.state === 'output-available')
    return part.preliminary ? <progress value={part.output.printed} /> : null;
  if (part.type === 'tool-pay' && part.state === 'output-available') return <p>{part.output.receipt}</p>;
  // @ts-expect-error: no tool has this name.
  if (part.type === 'tool-refund') return null;
  return null;
}

export function Page() {
  const chat = useDuologue<typeof tools, typeof data, Fields>(options);
  return (
    <main>
      {chat.messages.flatMap(({ id, parts }) =>
        parts.map((part) => <Part key={`${id} ${JSON.stringify(part)}`} part={part} />),
      )}
      {chat.approvals.map((approval) => (
        <Approval key={approval.id} approval={approval} chat={chat} />
      ))}
      {chat.questions.map((question) => (
        <Question key={question.toolCallId} question={question} chat={chat} />
      ))}
      <button
        type="button"
        onClick={() =>
          chat.sendMessage({ text: 'Draw', metadata: { page: 'cart' } }, { body: { shop: 'Kyoto' } })
        }
      >
        {chat.usage.total} {chat.connection.status} {chat.session.hasOlder}
      </button>
    </main>
  );
}

/** With plain `useChat`. */
export function Plain({ transport }: { transport: DuologueTransport<ChatMessage> }) {
  const chat = useChat<ChatMessage>({ transport, sendAutomaticallyWhen: resumeWhen(transport) });
  return <p>{chat.messages.length}</p>;
}
export const transports = [
  new DuologueTransport<ChatMessage>({ url: '/', executors }),
  new DuologueSseTransport<ChatMessage>({ url: '/', executors }),
];

/** A value that a tool sent with `transient`. */
export function stepOf(value: TransientData<typeof data>): string | null {
  return value.type === 'data-step' ? value.data.toUpperCase() : null;
}

/** The type of the AI SDK's own components. */
type StockPart = UIMessage<unknown, Record<string, unknown>, InferUITools<typeof tools>>['parts'][number];
export function receiptIn(part: StockPart): string | null {
  return part.type === 'tool-pay' && part.state === 'output-available' ? part.output.receipt : null;
}

/** What the compiler does not accept. */
export function Mistakes() {
  const { play } = executors;
  // @ts-expect-error: the executor of `get_location` is missing.
  useDuologue<typeof tools>({ url: '/', mode: 'sse', tools: { play } });
  // @ts-expect-error: there is no executor at all.
  useDuologue<typeof tools>({ url: '/', mode: 'sse' });
  const wrong = { play, get_location: () => ({ latitude: '35' }) };
  // @ts-expect-error: the latitude is a number.
  useDuologue<typeof tools>({ url: '/', mode: 'sse', tools: wrong });
  // @ts-expect-error: `pay` runs on the server.
  useDuologue<typeof tools>({ url: '/', mode: 'sse', tools: { ...executors, pay: () => null } });
  // @ts-expect-error: the mode is misspelt.
  useDuologue({ url: '/', mode: 'websocket' });
  // @ts-expect-error: the latitude is a number.
  new DuologueTransport<ChatMessage>({ url: '/', executors: wrong });
  // @ts-expect-error: the executor of `play` is missing.
  return new DuologueTransport<ChatMessage>({ url: '/', executors: { get_location } });
}
