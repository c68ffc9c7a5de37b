import { describe, expect, it } from 'vitest';
import { BlockDecoder } from '../../src/protocol/index.ts';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';
import { osaka } from './support/scenario.ts';

const here = stage({ DUOLOGUE_CONFIRMATIONS: 'tool' });

interface Chunk {
  type: string;
  toolName?: string;
  toolCallId?: string;
  input?: unknown;
  output?: unknown;
}

/** What the page has sent and heard so far, as the inspector saves it. */
async function wire(person: Person): Promise<{ heard: Chunk[]; sent: string }> {
  await person.page.getByRole('button', { name: 'More about recordings' }).click();
  const saved = await person.save(person.page.getByRole('menuitem', { name: 'Save the recording' }));
  const { events } = JSON.parse(String(saved)) as {
    events: { type: string; direction?: string; text?: string; body?: string | null }[];
  };
  const decoder = new BlockDecoder();
  const heard = events.flatMap(({ type, direction, text = '' }) =>
    type === 'text' && direction === 'in' && !text.startsWith('{') ? decoder.push(text) : [],
  );
  return {
    heard: heard.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data) as Chunk),
    sent: events
      .map(({ direction, text, body }) => body ?? (direction === 'out' ? text : '') ?? '')
      .join('\n'),
  };
}

/** The id of the call that a confirmation is about. */
function idIn(chunk: Chunk | undefined): string | undefined {
  return (chunk?.input as { originalFunctionCall?: { id?: string } } | undefined)?.originalFunctionCall?.id;
}

describe.each(['sse', 'bidi'] as const)('a confirmation that is a tool call, over %s', (mode) => {
  it.each([true, false])(
    'asks with the original call in it, is answered with its own id, and then the call follows (%s)',
    async (confirmed) => {
      const person = new Person(await here.open({ mode }));
      await person.openPanel('Inspector');
      await person.say('花子さんに50ドル送金してください');
      // The card shows the original call, and can be answered.
      const card = person.card('requested');
      await card.waitFor();
      await card.getByText('花子').first().waitFor();
      await card.getByText('$50.00').waitFor();
      const asked = (await wire(person)).heard.find(({ type }) => type === 'tool-input-available');
      expect(asked).toMatchObject({
        toolName: 'adk_request_confirmation',
        input: { originalFunctionCall: { name: 'process_payment', args: { amount: 50 } } },
      });
      const callId = idIn(asked);
      expect(asked?.toolCallId).not.toBe(callId);
      if (confirmed) await person.approve();
      else await person.deny();
      await person
        .card(confirmed ? 'approved' : 'denied')
        .first()
        .waitFor();
      await person.answers
        .getByText(confirmed ? '花子さんに50ドルを送金しました。' : /承認されなかったため、行っていません。/)
        .waitFor();
      // The page answered the confirmation, not the call.
      const { heard, sent: answers } = await wire(person);
      expect(answers).toContain(`"confirmed":${confirmed}`);
      expect(answers).toContain(asked?.toolCallId);
      expect(heard.filter(({ toolCallId }) => toolCallId === callId).map(({ type }) => type)).toEqual([
        'tool-input-start',
        'tool-input-available',
        confirmed ? 'tool-output-available' : 'tool-output-error',
      ]);
      expect(await person.answers.count()).toBe(1);
    },
  );

  it('lets the browser tell the location after it was confirmed', async () => {
    const person = new Person(await here.open({ mode, ...osaka }));
    await person.say('Where am I?');
    await person.card('requested').waitFor();
    await person.approve();
    await person.answers
      .getByText(/34\.6937/)
      .last()
      .waitFor();
  });
});
