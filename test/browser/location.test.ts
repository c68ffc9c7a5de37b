import { describe, it } from 'vitest';
import { type OpenOptions, stage } from './support/browser.ts';
import { Person } from './support/person.ts';

const here = stage();

const allowed: OpenOptions = {
  permissions: ['geolocation'],
  geolocation: { latitude: 35.6762, longitude: 139.6503, accuracy: 10 },
};
const table: [name: string, options: OpenOptions, state: string, text: RegExp][] = [
  ['is found when the browser may tell', allowed, 'done', /35\.6762/],
  ['is not told when the browser may not', {}, 'failed', /did not allow the browser/],
  ['is not told when there is none', { permissions: ['geolocation'] }, 'failed', /cannot find the location/],
];

describe.each(['sse', 'bidi'] as const)('over %s the location', (mode) => {
  it.each(table)('%s', async (_, options, state, text) => {
    const person = new Person(await here.open({ mode, ...options }));
    if (options.permissions && !options.geolocation) {
      const session = await person.page.context().newCDPSession(person.page);
      await session.send('Emulation.setGeolocationOverride', {});
    }
    await person.say('Where am I?');
    await person.card('requested').waitFor();
    await person.approve();
    await person.card(state).waitFor();
    await person.answers.getByText(text).first().waitFor();
  });
});
