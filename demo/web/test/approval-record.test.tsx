// @vitest-environment jsdom
import { afterEach, expect, test } from 'vitest';
import { ApprovalRecord } from '../src/audit/approval-record.tsx';
import type { AuditLine } from '../src/audit/audit-line.ts';
import { mount } from './support/mount.tsx';

const line = (kind: AuditLine['kind'], more: Partial<AuditLine> = {}): AuditLine => ({
  at: 0,
  kind,
  sessionId: 's',
  user: 'live_user',
  approvalId: 'a1',
  toolCallId: 'c1',
  toolName: 'process_payment',
  argsHash: null,
  args: null,
  reason: null,
  ...more,
});

afterEach(() => localStorage.clear());

test.each([
  [
    'en',
    [
      'Requested from you',
      'Approved by you (sign-in)',
      'Denied by Ann (shop)',
      'Denied by Bob',
      'Used to start the action ',
    ],
  ],
  [
    'ja',
    [
      '承認の依頼 宛先：あなた',
      '承認 回答者：あなた (sign-in)',
      '拒否 回答者：Ann (shop)',
      '拒否 回答者：Bob',
      '操作の開始に使用 ',
    ],
  ],
])(
  'the approval log says who was asked and who decided, and quotes the reason (%s)',
  async (language, steps) => {
    localStorage.setItem('duologue.language', language);
    await import('../src/i18n/ja.ts');
    await mount(
      <ApprovalRecord
        lines={[
          line('issued'),
          line('approved', { by: { application: 'sign-in', person: 'live_user' } }),
          line('denied', { by: { application: 'shop', person: 'Ann' }, reason: 'too much' }),
          line('denied', { user: 'Bob', by: null }),
          line('consumed'),
        ]}
      />,
    );
    const shown = [...document.querySelectorAll('[data-kind]')];
    expect(shown.map((one) => one.querySelector('p')?.textContent)).toEqual(steps);
    expect([...document.querySelectorAll('q')].map((one) => one.textContent)).toEqual(['too much']);
  },
);

test('a screen reader reads the title of a tool and its name as two words', async () => {
  await mount(<ApprovalRecord lines={[line('issued')]} />);
  expect(document.querySelector('h3')?.textContent).toBe('Payment process_payment');
});
