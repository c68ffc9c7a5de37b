import { expect, vi } from 'vitest';
import type { Message } from '../../../src/protocol/index.ts';
import { type Mode, pendingApprovals } from '../../../src/react/index.ts';
import { serve } from '../../../src/server/adapters/node.ts';
import { brief } from '../../client/support/chat.ts';
import { executorsOf, type Scenario, scenarios } from '../../contract/support/scenarios.ts';
import { fourTools } from '../../support/demo-tools.ts';
import { harness } from '../../support/harness.ts';
import { calls, text } from '../../support/scripted-model.ts';
import { expectAlike, pass, passUntilDone, plain } from './alike.ts';
import { BarePage, breakableLine } from './bare-page.ts';

const DENIED = 'User denied the tool call';
const sends: Scenario['sends'] = { sse: 2, stock: 2, bidi: { message: 2, tool_result: 0 } };

const APPROVAL_MS = 30_000;

/** Scenarios in addition to those of the transport contract. */
const further: Scenario[] = [
  {
    name: 'a browser tool that is denied',
    turns: () => [[calls({ id: 'call-l', name: 'get_location' })], [text('Then not.')]],
    tools: (log) => [fourTools(log).location],
    decisions: { 'call-l': { approved: false } },
    sends,
    answer: [['call-l', 'output-error', false, DENIED], 'Then not.'],
  },
  {
    name: 'a card that nobody answers',
    turns: () => [
      [calls({ id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } })],
      [text('Too late.')],
    ],
    tools: (log) => [fourTools(log).payment],
    options: { approvalTimeoutMs: APPROVAL_MS },
    sends,
    answer: [['call-a', 'output-error', 'Approval request timed out'], 'Too late.'],
  },
];

/** Every scenario with every pair of modes that supports it: over SSE an approval request has no timeout. */
export const stories = [...scenarios, ...further].flatMap((scenario) =>
  (['bidi', 'sse'] as const).flatMap((player) =>
    (['bidi', 'sse'] as const).flatMap((watcher) =>
      player === 'sse' && scenario.options?.approvalTimeoutMs
        ? []
        : [[scenario.name, player, watcher, scenario] as const],
    ),
  ),
);

/** The SDK stops reading at an error: the metadata of the finish chunk is only stored by the server. */
function withoutEnd(messages: readonly Message[]): unknown[] {
  return plain(
    messages.map((message) => {
      const { usage: _usage, failed: _failed, ...metadata } = message.metadata ?? {};
      return { ...message, metadata };
    }),
  );
}

/** Performs the next action of the user; false when nothing is pending. */
async function answerNext(scenario: Scenario, page: BarePage, done: Set<string>): Promise<boolean> {
  const approval = pendingApprovals(page.messages).find(({ toolCallId }) => scenario.decisions?.[toolCallId]);
  const decision = approval && scenario.decisions?.[approval.toolCallId];
  if (decision) {
    await page.conversation.decide(approval, decision.approved, decision.reason);
    return true;
  }
  for (const part of page.messages.at(-1)?.parts ?? []) {
    if (!('toolCallId' in part) || done.has(part.toolCallId) || scenario.hasExecutors) continue;
    const tool = part.type.slice('tool-'.length);
    const output = scenario.outputs?.[tool];
    if (output === undefined || part.state.startsWith('output')) continue;
    const { toolCallId } = part;
    done.add(toolCallId);
    await page.conversation.chat.addToolOutput({ tool, toolCallId, output } as never);
    return true;
  }
  return false;
}

/** One page runs a scenario and another watches it: after every step both show the server's messages. */
export async function expectMirrored(scenario: Scenario, player: Mode, watcher: Mode): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  const ran: string[] = [];
  const ranHere: string[] = [];
  const ranThere: string[] = [];
  const { duologue, model } = harness(scenario.turns(), scenario.tools?.(ran) ?? [], {
    approvalTimeoutMs: null,
    rateLimit: false,
    ...scenario.options,
  });
  const served = await serve(duologue, { port: 0 });
  const { url } = served;
  const sessionId = 'chat-1';
  const open = (mode: Mode, log: string[]) => {
    const { drop: _drop, ...line } = breakableLine();
    return new BarePage({ url, sessionId, mode, ...line, tools: executorsOf(scenario, log) });
  };
  const pages: [BarePage, BarePage] = [open(player, ranHere), open(watcher, ranThere)];
  const [page] = pages;
  try {
    const alike = (when: string) =>
      expectAlike({ duologue, sessionId }, pages, when, { view: scenario.fails ? withoutEnd : plain });
    await alike('before a word');
    const { text: words, files } = scenario.says ?? { text: 'go' };
    void page.conversation.chat.sendMessage({ text: words, ...(files ? { files } : {}) });
    const done = new Set<string>();
    await alike('after the first words');
    for (let step = 1; await answerNext(scenario, page, done); step++) await alike(`after answer ${step}`);
    // An unanswered approval request times out.
    if (scenario.options?.approvalTimeoutMs) await pass(10, APPROVAL_MS / 5);
    await alike('at the end');
    const inOrder = scenario.ranInAnyOrder ? [...ran].sort() : ran;
    expect({ answer: brief(page.messages[1]), ran: inOrder, ranThere, left: model.left }).toEqual({
      answer: scenario.answer,
      ran: scenario.ran ?? [],
      ranThere: [],
      left: 0,
    });
    expect(ranHere).toEqual(scenario.hasExecutors ? Object.keys(scenario.outputs ?? {}) : []);
  } finally {
    for (const one of pages) one.close();
    await passUntilDone(served.close());
    vi.useRealTimers();
  }
}
