// @vitest-environment jsdom
import axe from 'axe-core';
import { QUESTION_TIMED_OUT, SUPERSEDED } from 'duologue/protocol';
import { act } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Reach, ReachProvider } from '../src/approval/reach.tsx';
import { LanguageProvider } from '../src/i18n/language.tsx';
import { AnsweringProvider } from '../src/questions/answering.tsx';
import { QuestionCard } from '../src/questions/question-card.tsx';
import type { ToolPart } from '../src/tools/tool-part.ts';
import { Announcer } from '../src/ui/announcer.tsx';

const schema = {
  type: 'object',
  properties: {
    size: { enum: ['S', 'M'] },
    seats: { type: 'integer', minimum: 1, description: 'How many people come' },
    note: { type: 'string' },
  },
  required: ['size', 'seats'],
};

const asking = (question: object = { message: 'Which table?', schema, payload: { price: 5 } }): ToolPart => ({
  type: 'tool-adk_request_input',
  toolCallId: 'c1',
  state: 'input-available',
  input: {},
  toolMetadata: { runsOn: 'client', asks: false, question: { kind: 'answer', ...question } },
});

let root: Root;
const answer = vi.fn();
const decline = vi.fn();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  Element.prototype.scrollIntoView = () => {};
  document.body.innerHTML = '<textarea id="message" aria-label="Message"></textarea><main></main>';
  root = createRoot(document.querySelector('main') as HTMLElement);
  for (const one of [answer, decline]) one.mockReset().mockReturnValue(new Promise(() => undefined));
});

afterEach(async () => {
  await act(async () => root.unmount());
  vi.useRealTimers();
});

async function show(part: ToolPart, reach: Reach = 'live'): Promise<void> {
  await act(async () =>
    root.render(
      <LanguageProvider>
        <Announcer>
          <ReachProvider reach={reach}>
            <AnsweringProvider value={{ answer, decline }}>
              <QuestionCard part={part} />
            </AnsweringProvider>
          </ReachProvider>
        </Announcer>
      </LanguageProvider>,
    ),
  );
  await act(async () => vi.advanceTimersByTime(400));
}

const card = () => document.querySelector('[data-testid=question-card]') as HTMLElement;
const button = (name: string) =>
  [...card().querySelectorAll('button')].find((one) => one.textContent === name) as HTMLButtonElement;
const field = (name: string) => {
  const label = [...card().querySelectorAll('label')].find((one) => one.textContent?.startsWith(name));
  return document.getElementById(String(label?.htmlFor)) as HTMLInputElement;
};
const type = (element: HTMLElement, value: string) =>
  act(async () => {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), 'value')?.set?.call(element, value);
    element.dispatchEvent(
      new Event(element instanceof HTMLSelectElement ? 'change' : 'input', { bubbles: true }),
    );
  });
const press = (target: Element, init: KeyboardEventInit) =>
  act(async () =>
    target.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init })),
  );
const askedBy = () => card().querySelector('[data-testid=asked-by]')?.textContent;
const announced = () => document.querySelector('[aria-live=assertive]')?.textContent;

describe('the card of a question', () => {
  test('takes the focus, is told to screen readers, and has no fault that axe knows', async () => {
    await show(asking());
    expect(document.activeElement).toBe(card());
    expect(announced()).toMatch(/^A question for you: Which table\? Press .+N to decline\.$/);
    expect(card().querySelector('dl')?.textContent).toBe('price5');
    const { violations } = await runAxe();
    expect(violations).toEqual([]);
  });

  test('sends the fields of its form as one value', async () => {
    await show(asking());
    await type(field('size'), '1');
    await type(field('seats'), '4');
    await act(async () => button('Send answer').click());
    expect(answer).toHaveBeenCalledExactlyOnceWith('c1', { size: 'M', seats: 4 });
    expect(card().querySelector('[role=status]')?.textContent).toBe('Sending your answer.');
    expect(button('Send answer').disabled).toBe(true);
  });

  test('says at the field what is missing, and gives it the focus', async () => {
    await show(asking());
    await type(field('size'), '1');
    await act(async () => button('Send answer').click());
    expect(answer).not.toHaveBeenCalled();
    const seats = field('seats');
    expect(document.activeElement).toBe(seats);
    expect(seats.getAttribute('aria-invalid')).toBe('true');
    const about = String(seats.getAttribute('aria-describedby')).split(' ');
    expect(about.map((id) => document.getElementById(id)?.textContent)).toEqual([
      'How many people come',
      'Please fill this in.',
    ]);
  });

  test('says why the server refuses an answer, and takes another one', async () => {
    answer.mockRejectedValueOnce(
      Object.assign(
        new Error('The answer was refused: the answer does not fit the question: Too small at seats.'),
        {
          code: 'answer_refused',
        },
      ),
    );
    await show(asking());
    await type(field('size'), '0');
    await type(field('seats'), '0');
    await act(async () => button('Send answer').click());
    const refusal = card().querySelector('[data-testid=question-refusal]');
    expect(refusal?.getAttribute('role')).toBe('alert');
    expect(refusal?.textContent).toBe('The answer does not fit. Please change it: Too small at seats.');
    await type(field('seats'), '2');
    await act(async () => button('Send answer').click());
    expect(answer).toHaveBeenLastCalledWith('c1', { size: 'S', seats: 2 });
  });

  test('has a button for each choice, and one press answers', async () => {
    await show(asking({ schema: { type: 'string', enum: ['red', 'blue'] } }));
    expect([...card().querySelectorAll('button')].map((one) => one.textContent)).toEqual([
      'red',
      'blue',
      'Decline',
    ]);
    await act(async () => button('blue').click());
    expect(answer).toHaveBeenCalledExactlyOnceWith('c1', 'blue');
  });

  test('sends a text with Enter, not with Shift and Enter nor while a word is composed', async () => {
    await show(asking({ message: 'Your name?' }));
    const box = card().querySelector('textarea') as HTMLTextAreaElement;
    await type(box, 'Ann');
    await press(box, { key: 'Enter', shiftKey: true });
    await press(box, { key: 'Enter', isComposing: true });
    expect(answer).not.toHaveBeenCalled();
    await press(box, { key: 'Enter' });
    expect(answer).toHaveBeenCalledExactlyOnceWith('c1', 'Ann');
  });

  test('is declined by its button or its key, and by no other key', async () => {
    await show(asking());
    await press(card(), { key: 'y', code: 'KeyY', altKey: true });
    expect([answer, decline].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
    await press(card(), { key: 'n', code: 'KeyN', altKey: true });
    expect(decline).toHaveBeenCalledExactlyOnceWith('c1');
    await act(async () => button('Decline').click());
    expect(decline).toHaveBeenCalledTimes(1);
  });

  test.each<[string, Partial<ToolPart>, string]>([
    ['answered', { state: 'output-available', output: { size: 'M' } }, 'AnsweredWhich table?size: M'],
    [
      'declined',
      { state: 'output-error', errorText: 'The user declined to answer: no' },
      'DeclinedWhich table?',
    ],
    ['expired', { state: 'output-error', errorText: QUESTION_TIMED_OUT }, 'ExpiredWhich table?'],
    ['cancelled', { state: 'output-error', errorText: SUPERSEDED }, 'CancelledWhich table?'],
    ['failed', { state: 'output-error', errorText: 'Broken.' }, 'FailedWhich table?'],
  ])('that is %s says so, gives the focus back, and takes no answer', async (state, change, line) => {
    await show(asking());
    await show({ ...asking(), ...change });
    expect(card().dataset.state).toBe(state);
    expect(card().querySelector('button')?.textContent).toBe(line);
    expect(card().querySelectorAll('button')).toHaveLength(1);
    expect(document.activeElement).toBe(document.querySelector('#message'));
    expect(announced()).toMatch(/: Which table\?$/);
    expect((await runAxe()).violations).toEqual([]);
  });

  test('ends by the clock of the page where the server cannot tell', async () => {
    const expiresAt = Date.now() + 5_000;
    await show(asking({ message: 'Now?', expiresAt }), 'away');
    expect(card().dataset.state).toBe('asking');
    await act(async () => vi.advanceTimersByTime(6_000));
    expect(card().dataset.state).toBe('expired');
  });

  test.each([
    ['en', 'Asked by assistant › banker'],
    ['ja', '依頼したエージェント：assistant › banker'],
  ])(
    'names the agents on the way to a question inside an agent that is used as a tool (%s)',
    async (language, line) => {
      localStorage.setItem('duologue.language', language);
      onTestFinished(() => localStorage.clear());
      await import('../src/i18n/ja.ts');
      await show(asking());
      expect(askedBy()).toBeUndefined();
      const { toolMetadata, ...part } = asking();
      await show({ ...part, toolMetadata: { ...toolMetadata, agents: ['assistant', 'banker'] } });
      expect(askedBy()).toBe(line);
      await show({ ...part, toolMetadata: { ...toolMetadata, agents: ['assistant', 'ban\u202eker'] } });
      expect(askedBy()).toContain('ban⟨U+202E⟩ker');
    },
  );

  test('cannot be answered where another page has the conversation', async () => {
    await show(asking(), 'elsewhere');
    expect(button('Send answer').disabled).toBe(true);
    expect(card().textContent).toContain('This conversation is open elsewhere.');
  });
});

async function runAxe() {
  vi.useRealTimers();
  const { violations } = await axe.run(card(), { rules: { 'color-contrast': { enabled: false } } });
  return { violations: violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]) };
}
