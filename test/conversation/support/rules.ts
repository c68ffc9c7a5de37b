import { getFunctionCalls, getFunctionResponses } from '@google/adk';
import { type Chunk, isSettled, SUPERSEDED } from '../../../src/protocol/index.ts';
import { brief } from './message-view.ts';
import { placeOf } from './page.ts';
import { FAULT } from './watched-store.ts';
import { TOOLS } from './workbench.ts';
import type { World } from './world.ts';

type Of<T extends Chunk['type']> = Extract<Chunk, { type: T }>;

/** A received chunk, with its message and the time of its first receipt. */
interface Heard {
  at: number;
  id: string;
  messageId: string;
  chunk: Chunk;
  /** Whether the response of a post contained it, too. */
  isPosted: boolean;
}

/** The violations in a conversation at rest, each with its rule of PROTOCOL.md. */
export async function brokenRules(world: World): Promise<string[]> {
  const heard = everythingHeard(world);
  return [
    ...streams(world),
    ...ends(heard),
    ...turns(world, heard),
    ...writes(world, heard),
    ...(await runs(world)),
    ...(await records(world)),
    ...(await inputs(world, heard)),
    ...(await requests(world, heard)),
    ...(await views(world)),
    ...secrets(world),
  ];
}

/** Every chunk once, in the order of sending. A page that reconnects may receive chunks in another order. */
function everythingHeard({ journal }: World): Heard[] {
  const current = new Map<string, string>();
  const heard = new Map<string, Heard>();
  journal.entries.forEach((entry, at) => {
    if (entry.kind !== 'chunk' || entry.chunk.type === 'data-session') return;
    const { by, id, chunk, wire } = entry;
    // After a reset the chunk has no id.
    if (chunk.type === 'start') current.set(by, chunk.messageId ?? '');
    if (!id) return;
    const known = heard.get(id);
    if (known) known.isPosted ||= wire === 'post';
    else heard.set(id, { at, id, chunk, messageId: current.get(by) ?? '', isPosted: wire === 'post' });
  });
  const epochs = [...new Set([...heard.keys()].map((id) => placeOf(id)[0]))];
  const order = new Map([...heard.keys()].map((id) => [id, placeOf(id)]));
  return [...heard.values()].sort((a, b) => {
    const [epochA = '', seqA = 0] = order.get(a.id) ?? [];
    const [epochB = '', seqB = 0] = order.get(b.id) ?? [];
    return epochs.indexOf(epochA) - epochs.indexOf(epochB) || seqA - seqB;
  });
}

/** The violations that pages and posts found: order, grammar, ends. */
function streams({ pages, posts }: World): string[] {
  const asked = new Set(posts.flatMap(({ chunks }) => only(chunks, 'tool-approval-request')));
  const posted = new Set([...asked].map(({ toolCallId }) => toolCallId));
  return [
    ...pages.flatMap(({ wrong }) => wrong),
    ...posts.flatMap(({ wrong }) => wrong),
    ...pages.flatMap(({ bare, name }) =>
      bare.flatMap((id) => (posted.has(id) ? [] : [`${name}: [C8] the request of ${id} is outside a step`])),
    ),
    ...pages.flatMap((page) => (page.isOpen ? page.end() : [])),
  ];
}

/** [C9] A call ends once, whichever client receives it. */
function ends(heard: Heard[]): string[] {
  const ended = new Map<string, number>();
  for (const { chunk } of heard) {
    const id = endedBy(chunk);
    if (id !== null) ended.set(id, (ended.get(id) ?? 0) + 1);
  }
  return [...ended].flatMap(([id, times]) => (times > 1 ? [`[C9] ${id} ends ${times} times`] : []));
}

/** [B13] [B6] A turn has one end, and nothing of it comes after an interruption. */
function turns(world: World, heard: Heard[]): string[] {
  const wrong: string[] = [];
  const reported = new Set(heard.map(({ chunk }) => endedBy(chunk)));
  const replaced = new Set(heard.flatMap(({ chunk }) => replacedBy(chunk)));
  const open = new Map<string, Set<string>>();
  const hasFailed = hasFailedWrite(world);
  /** Where messages were interrupted. */
  const over = new Map<string, string>();
  const ended = new Map<string, string>();
  const startedAt = new Map<string, number>();
  const continued = world.journal.entries.flatMap((entry, at) =>
    entry.kind === 'command' && entry.text.startsWith('the person continues') ? [at] : [],
  );
  const posted = new Set(heard.flatMap(({ isPosted, messageId }) => (isPosted ? [messageId] : [])));
  const hides = hiddenAt(world, heard);
  for (const { chunk, messageId, id, at } of heard) {
    if (chunk.type === 'data-settled') {
      for (const others of open.values()) others.delete(chunk.data.toolCallId);
    }
    if ('transient' in chunk && chunk.transient) continue;
    // A user may continue an interrupted answer, which then ends a second time.
    if (
      chunk.type === 'start' &&
      continued.some((asked) => asked < at && asked > (startedAt.get(messageId) ?? at))
    ) {
      over.delete(messageId);
      ended.delete(messageId);
    }
    if (chunk.type === 'start' && !startedAt.has(messageId)) startedAt.set(messageId, at);
    // The next process does not know a `finish` whose write failed.
    const isUnknown = (end: string | undefined) => hasFailed && isOfNextProcess(end, id);
    if (over.has(messageId) && !isUnknown(over.get(messageId)))
      wrong.push(`[B6] ${id} ${chunk.type} comes after the interruption of ${messageId}`);
    const calls = open.get(messageId) ?? new Set();
    open.set(messageId, calls);
    if (chunk.type === 'tool-input-start') calls.add(chunk.toolCallId);
    // A page that connected in the middle may not know the current message.
    for (const others of open.values()) others.delete(endedBy(chunk) ?? '');
    if (chunk.type !== 'finish') continue;
    if (chunk.messageMetadata?.interrupted && calls.size === 0 && !hides(at)) over.set(messageId, id);
    // Over SSE every response has its own end; and an answer that failed, or was cut off with its process, may be continued.
    if (posted.has(messageId) || chunk.finishReason === 'error' || chunk.messageMetadata?.cutOff) continue;
    // Ends caused by a crash appear in a reset and in no chunk. A message that a posted message replaces ends
    // before its calls do.
    const isReplaced = (call: string) => chunk.finishReason === 'other' && replaced.has(call);
    const isOpen = [...calls].some((call) => reported.has(call) && !isReplaced(call));
    const isPause = isOpen || chunk.finishReason === 'tool-calls';
    if (isPause) wrong.push(`[B13] ${messageId} ends while ${[...calls].join(', ')} is open`);
    if (ended.has(messageId) && !isUnknown(ended.get(messageId))) wrong.push(`[B13] ${messageId} ends twice`);
    ended.set(messageId, id);
  }
  return wrong;
}

/** [T10] No client receives a call, or its outcome, before it is stored. */
function writes({ journal }: World, heard: Heard[]): string[] {
  const issued = new Map<string, number>();
  const settled = new Map<string, number>();
  journal.entries.forEach((entry, at) => {
    if (entry.kind !== 'write') return;
    // The server sends an outcome even when its write failed.
    const isKept = entry.outcome === 'stored' || entry.method === 'appendEvent';
    if (!isKept) return;
    const when = entry.method === 'issueCalls' ? issued : entry.method === 'appendEvent' ? settled : null;
    for (const id of entry.calls) if (when && !when.has(id)) when.set(id, at);
  });
  const posted = new Set(heard.flatMap(({ isPosted, messageId }) => (isPosted ? [messageId] : [])));
  return heard.flatMap(({ chunk, at, messageId }) => {
    const ended = endedBy(chunk);
    if (ended !== null && !((settled.get(ended) ?? at) < at))
      return [`[T10] ${ended} ends before it is written`];
    const isRequest = chunk.type === 'tool-approval-request';
    // Over SSE, ADK announces a call before its approval request: only the request must be stored first.
    const isInput =
      chunk.type === 'tool-input-start' && !posted.has(messageId) && issued.has(chunk.toolCallId);
    if (!isRequest && !isInput) return [];
    const { toolCallId: id } = chunk;
    return (issued.get(id) ?? at) < at ? [] : [`[T10] ${chunk.type} of ${id} comes before it is written`];
  });
}

/** [T12] A tool runs once; a tool that needs approval runs only after a valid approval. */
async function runs(world: World): Promise<string[]> {
  const wrong: string[] = [];
  const lines = await world.auditLog();
  const has = (callId: string, kind: string) =>
    lines.some((line) => line.toolCallId === callId && line.kind === kind);
  const started = new Set<string>();
  for (const { name, callId } of world.bench.runs) {
    if (started.has(callId)) wrong.push(`[T12] ${name} ${callId} runs twice`);
    started.add(callId);
    if (!TOOLS[name as keyof typeof TOOLS].asks) continue;
    if (!world.approved.has(callId)) wrong.push(`[T12] ${callId} runs, and nobody said yes`);
    if (!has(callId, 'approved') || !has(callId, 'consumed'))
      wrong.push(`[T12] ${callId} runs without an approval`);
    if (has(callId, 'denied')) wrong.push(`[T12] ${callId} runs though it was denied`);
  }
  return wrong;
}

/** [T1] At rest nothing is open: in the ledger, in the history, in the messages. */
async function records(world: World): Promise<string[]> {
  const wrong: string[] = [];
  for (const { id, status } of await world.openCalls()) wrong.push(`[T1] ${id} is still ${status}`);
  const events = await world.events();
  const responses = events.flatMap((event) => getFunctionResponses(event).map(({ id }) => id));
  for (const { id } of events.flatMap((event) => getFunctionCalls(event))) {
    const count = responses.filter((other) => other === id).length;
    if (count !== 1) wrong.push(`[T1] the history answers ${id} ${count} times`);
  }
  for (const { id, role, parts } of await world.messages()) {
    if (role !== 'assistant') continue;
    for (const part of parts) {
      if ('toolCallId' in part && !isSettled(part.state))
        wrong.push(`[T1] ${id} shows ${part.toolCallId} as open`);
      if (part.type === 'text' && part.state === 'streaming')
        wrong.push(`[C7] ${id} shows text as being written`);
    }
  }
  return wrong;
}

/** [B25] [B26] A request with an id is rejected, or stored once and answered by the announced message. */
async function requests(world: World, heard: Heard[]): Promise<string[]> {
  const stored = new Set((await world.messages()).map(({ id }) => id));
  const begun = new Set(heard.flatMap(({ chunk }) => (chunk.type === 'start' ? [chunk.messageId] : [])));
  return world.texts.flatMap(({ text, page, requestId }) => {
    if (requestId === undefined || !page?.isOpen) return [];
    const answer = page.accepted.get(requestId);
    if (page.refused.has(requestId))
      return stored.has(text) ? [`[B25] ${text} was refused, and is stored`] : [];
    if (answer === undefined) return [`[B25] ${text} is neither accepted nor refused`];
    if (!stored.has(text)) return [`[B25] ${text} was accepted, and is not stored`];
    return stored.has(answer) || begun.has(answer) ? [] : [`[B26] ${text} is not answered by ${answer}`];
  });
}

/** [B2] [S10] An accepted message is answered, unless the client received an error. */
async function inputs(world: World, heard: Heard[]): Promise<string[]> {
  const stored = await world.messages();
  const kept = new Set(stored.map(({ id }) => id));
  const refusals = world.journal.chunks.filter(
    ({ chunk }) =>
      chunk.type === 'data-error' &&
      chunk.data.requestId === undefined &&
      !ABOUT_ANSWERS.has(chunk.data.code),
  ).length;
  // A client repeats a message that a crashed process or a lost connection did not accept.
  const taken = world.texts.filter(
    ({ process, post, page, connection, requestId }) =>
      requestId === undefined &&
      process === world.process &&
      !post?.refusal &&
      (page === undefined || (page.isOpen && page.connections === connection)),
  );
  const lost = taken.filter(({ text }) => !kept.has(text));
  const began = world.journal.entries.findLastIndex(
    (entry) => entry.kind === 'server' && entry.text === 'starts',
  );
  const earlier = new Set(heard.flatMap(({ messageId, at }) => (at < began ? [messageId] : [])));
  const answers = new Set([
    ...heard.flatMap(({ chunk, at }) => (chunk.type === 'start' && at > began ? [chunk.messageId] : [])),
    ...stored.flatMap(({ id, role }) => (role === 'assistant' && !earlier.has(id) ? [id] : [])),
  ]);
  // Requests with ids are checked one by one elsewhere.
  for (const { accepted } of world.pages) for (const answer of accepted.values()) answers.delete(answer);
  const asked = taken.length - lost.length;
  return [
    ...(lost.length > refusals ? [`[B2] ${lost.map(({ text }) => text).join(', ')} got no answer`] : []),
    ...(asked > answers.size + refusals ? [`[B2] ${asked} messages got ${answers.size} answers`] : []),
  ];
}

const ABOUT_ANSWERS = new Set([
  'answer_refused',
  'nothing_to_answer',
  'taken_over',
  'shutting_down',
  'bad_audio',
]);

/** [C11] The messages that a page built from chunks equal the stored ones. */
async function views(world: World): Promise<string[]> {
  // A message whose write failed is shown, and the client receives an error.
  if (hasFailedWrite(world)) return [];
  const stored = await world.messages();
  const assistant = new Map(
    stored.flatMap((message) => (message.role === 'assistant' ? [[message.id, brief(message)]] : [])),
  );
  return world.pages.flatMap(({ name, view, isOpen }) => {
    if (!isOpen || !view.isWhole) return [];
    const shown = view.messages;
    return [...new Set([...assistant.keys(), ...shown.keys()])].flatMap((id) => {
      const [here, there] = [shown.get(id), assistant.get(id)];
      return here === there ? [] : [`[C11] ${name} shows ${id} as ${here}, stored is ${there}`];
    });
  });
}

/** [E3] No client receives the text of an internal error. */
function secrets({ journal }: World): string[] {
  return journal.chunks.flatMap(({ by, chunk }) =>
    JSON.stringify(chunk).includes(FAULT) ? [`[E3] ${by} hears of ${chunk.type} that ${FAULT}`] : [],
  );
}

/** Whether a call existed by then whose approval request is still queued behind another one. */
function hiddenAt({ journal }: World, heard: Heard[]): (at: number) => boolean {
  const shown = new Map(
    heard.flatMap(({ chunk, at }) => (chunk.type === 'tool-input-start' ? [[chunk.toolCallId, at]] : [])),
  );
  const made = journal.entries.flatMap((entry, at) =>
    entry.kind === 'model' && entry.text.startsWith('calls ')
      ? [...entry.text.matchAll(/\bc\d+/g)].map(([id]) => ({ id, at }))
      : [],
  );
  return (at) => made.some((call) => call.at < at && (shown.get(call.id) ?? at) > at);
}

function hasFailedWrite({ journal }: World): boolean {
  return journal.entries.some((entry) => entry.kind === 'write' && entry.outcome === 'failed');
}

/** Whether two chunks come from different processes: each process has its own log. */
function isOfNextProcess(before: string | undefined, after: string): boolean {
  return before !== undefined && placeOf(before)[0] !== placeOf(after)[0];
}

function endedBy(chunk: Chunk): string | null {
  if (chunk.type === 'data-settled') return chunk.data.toolCallId;
  return chunk.type.startsWith('tool-output-') && 'toolCallId' in chunk ? chunk.toolCallId : null;
}

/** The call that a posted message replaced, also when it timed out at the same moment. */
function replacedBy(chunk: Chunk): string[] {
  if (chunk.type !== 'data-settled') return [];
  const { errorText = '', toolCallId } = chunk.data;
  const isLate = errorText.startsWith('Timeout waiting for ') || errorText === 'Approval request timed out';
  return errorText === SUPERSEDED || isLate ? [toolCallId] : [];
}

function only<T extends Chunk['type']>(chunks: readonly Chunk[], type: T): Of<T>[] {
  return chunks.filter((chunk): chunk is Of<T> => chunk.type === type);
}
