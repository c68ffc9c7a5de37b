import { describe, expect, test } from 'vitest';
import {
  isSettled,
  type ToolCallEvent,
  type ToolCallState,
  TRANSITIONS,
  toolNameOf,
  transition,
  type WaitingCall,
  waitingFor,
} from '../../src/protocol/index.ts';

const states: ToolCallState[] = [
  'input-streaming',
  'input-available',
  'approval-requested',
  'approval-responded',
  'output-available',
  'output-error',
  'output-denied',
];

const events: ToolCallEvent[] = ['input', 'ask', 'approve', 'deny', 'progress', 'output', 'fail', 'refuse'];

/** Every arrow there is, by hand. */
const arrows: [ToolCallState, ToolCallEvent, ToolCallState][] = [
  ['input-streaming', 'input', 'input-available'],
  ['input-streaming', 'fail', 'output-error'],
  ['input-available', 'ask', 'approval-requested'],
  ['input-available', 'progress', 'input-available'],
  ['input-available', 'output', 'output-available'],
  ['input-available', 'fail', 'output-error'],
  ['approval-requested', 'approve', 'approval-responded'],
  ['approval-requested', 'deny', 'approval-responded'],
  ['approval-requested', 'fail', 'output-error'],
  ['approval-responded', 'progress', 'approval-responded'],
  ['approval-responded', 'output', 'output-available'],
  ['approval-responded', 'fail', 'output-error'],
  ['approval-responded', 'refuse', 'output-denied'],
];

describe('the life cycle of a tool call', () => {
  test.each(states.flatMap((state) => events.map((event) => [state, event] as const)))(
    '[T1] from %s, %s leads where the table says, or nowhere',
    (state, event) => {
      const arrow = arrows.find(([from, what]) => from === state && what === event);
      expect(transition(state, event)).toBe(arrow?.[2] ?? null);
    },
  );

  test('[T1] the table holds these arrows and no others', () => {
    const table = Object.entries(TRANSITIONS).flatMap(([from, row]) =>
      Object.entries(row).map(([event, to]) => [from, event, to]),
    );
    expect(table.sort()).toEqual([...arrows].sort());
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...states].sort());
  });

  test('[T1] a settled call has no way out, and every other call can still be settled', () => {
    const settled = states.filter(isSettled);
    expect(settled).toEqual(['output-available', 'output-error', 'output-denied']);
    for (const state of states) {
      const next = events.map((event) => transition(state, event)).filter((to) => to !== null);
      expect(next.length === 0).toBe(isSettled(state));
      expect(isSettled(state) || next.some((to) => isSettled(to) || to === 'approval-responded')).toBe(true);
    }
  });
});

/** Whom a call waits for, for each kind of tool: server, server that asks, client, client that asks. */
const waiting: [ToolCallState, boolean | undefined, string, string, string, string][] = [
  ['input-streaming', undefined, 'server', 'server', 'server', 'server'],
  ['input-streaming', true, 'server', 'server', 'server', 'server'],
  ['input-streaming', false, 'server', 'server', 'server', 'server'],
  ['input-available', undefined, 'server', 'server', 'client', 'server'],
  ['input-available', true, 'server', 'server', 'client', 'client'],
  ['input-available', false, 'server', 'server', 'client', 'server'],
  ['approval-requested', undefined, 'person', 'person', 'person', 'person'],
  ['approval-requested', true, 'person', 'person', 'person', 'person'],
  ['approval-requested', false, 'person', 'person', 'person', 'person'],
  ['approval-responded', undefined, 'server', 'server', 'server', 'server'],
  ['approval-responded', true, 'server', 'server', 'client', 'client'],
  ['approval-responded', false, 'server', 'server', 'server', 'server'],
  ['output-available', undefined, 'none', 'none', 'none', 'none'],
  ['output-available', true, 'none', 'none', 'none', 'none'],
  ['output-available', false, 'none', 'none', 'none', 'none'],
  ['output-error', undefined, 'none', 'none', 'none', 'none'],
  ['output-error', true, 'none', 'none', 'none', 'none'],
  ['output-error', false, 'none', 'none', 'none', 'none'],
  ['output-denied', undefined, 'none', 'none', 'none', 'none'],
  ['output-denied', true, 'none', 'none', 'none', 'none'],
  ['output-denied', false, 'none', 'none', 'none', 'none'],
];

describe('whom a call waits for', () => {
  test.each(waiting)('[T2] in %s, approved %s: %s, %s, %s, %s', (state, approved, ...expected) => {
    const kinds = [
      { runsOn: 'server', asks: false },
      { runsOn: 'server', asks: true },
      { runsOn: 'client', asks: false },
      { runsOn: 'client', asks: true },
    ] as const;
    const calls: WaitingCall[] = kinds.map((facts) => ({ ...facts, state, approved }));
    expect(calls.map(waitingFor)).toEqual(expected);
  });

  test('[T2] every state is in the table, approved, denied and undecided', () => {
    expect(waiting.map(([state, approved]) => `${state} ${approved}`)).toEqual(
      states.flatMap((state) => [undefined, true, false].map((approved) => `${state} ${approved}`)),
    );
  });
});

test.each([
  [{ type: 'tool-get_weather' }, 'get_weather'],
  [{ type: 'tool-a-b' }, 'a-b'],
  [{ type: 'dynamic-tool', toolName: 'lookup' }, 'lookup'],
  [{ type: 'dynamic-tool', toolName: 5 }, null],
  [{ type: 'dynamic-tool' }, null],
  [{ type: 'text', toolName: 'x' }, null],
])('the tool name of %j is %j', (part, name) => {
  expect(toolNameOf(part)).toBe(name);
});
