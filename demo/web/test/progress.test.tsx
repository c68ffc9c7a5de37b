// @vitest-environment jsdom
import { describe, expect, test } from 'vitest';
import { ApprovalCard } from '../src/approval/approval-card.tsx';
import { cardStateOf } from '../src/approval/card-state.ts';
import { ReachProvider } from '../src/approval/reach.tsx';
import { Part } from '../src/chat/part.tsx';
import { ToolCard } from '../src/tools/tool-card.tsx';
import type { ToolPart } from '../src/tools/tool-part.ts';
import { mount } from './support/mount.tsx';

const working = (output: unknown, more: Partial<ToolPart> = {}): ToolPart => ({
  type: 'tool-book_table',
  toolCallId: 'c1',
  state: 'output-available',
  preliminary: true,
  input: { seats: 4 },
  output,
  ...more,
});

const progress = () => document.querySelector('[data-testid="tool-progress"]');

describe('a tool that shows progress', () => {
  test.each([
    ['Asking the kitchen', 'Asking the kitchen', null],
    [{ message: 'Asking the kitchen', progress: 0.25 }, 'Asking the kitchen', '0.25'],
    [{ progress: 0.5 }, '', '0.5'],
    [{ tables: 3 }, '{"tables":3}', null],
  ])('%j: is still in progress, and its card shows the latest value', async (output, text, share) => {
    await mount(<ToolCard part={working(output)} />);
    expect(document.body.textContent).toContain('In progress');
    expect(progress()?.textContent).toBe(text);
    expect(progress()?.querySelector('progress')?.getAttribute('value') ?? null).toBe(share);
  });

  test('shows its progress no longer once it has ended', async () => {
    await mount(<ToolCard part={working({ booked: true }, { preliminary: false })} />);
    expect(progress()).toBe(null);
    expect(document.body.textContent).not.toContain('In progress');
  });

  test('on an approval card is approved and in progress, not done', async () => {
    const part = working('Asking the kitchen', { approval: { id: 'a1', approved: true } });
    expect(cardStateOf(part)).toBe('processing');
    await mount(
      <ReachProvider reach="live">
        <ApprovalCard part={part} onDecide={() => {}} />
      </ReachProvider>,
    );
    expect(document.body.textContent).toContain('Approved, in progress');
    expect(document.body.textContent).toContain('Run book_table.');
    expect(progress()?.textContent).toBe('Asking the kitchen');
  });
});

test('a text of one of several agents stands below the name of its agent', async () => {
  const providerMetadata = { duologue: { author: 'critic' } };
  const part = { type: 'text', text: 'Too long.', providerMetadata } as const;
  await mount(<Part part={part} place={null} isGrowing={false} onDecide={() => {}} />);
  expect(document.querySelector('[data-author="critic"]')?.textContent).toBe('criticToo long.');
});
