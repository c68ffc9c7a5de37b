import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { furnish, Talker } from './support/talker.ts';

/** How the registry answers, and what the page says then. */
const ANSWERS: [(response: ServerResponse) => void, RegExp][] = [
  [(response) => response.writeHead(404).end(), /could not be downloaded: .* answered 404/],
  [
    (response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('x', () => response.destroy());
    },
    /The download of .+ broke off/,
  ],
  [(response) => response.writeHead(200).end('another'), /was downloaded with a wrong checksum/],
];

/** Each request that came is one attempt: pressing once, or trying again, asks once. */
let asked = 0;
const registry = await listening(
  createServer((_request, response) => ANSWERS[asked++ % ANSWERS.length]?.[0](response)),
);
const here = stage({ npm_config_registry: `http://localhost:${(registry.address() as AddressInfo).port}/` });
afterAll(() => void registry.close());

it('weights that are missing, cut short or not the right ones are told in words; nothing is heard, and text goes on', async () => {
  const person = Talker.at(await here.open({ prepare: furnish }));
  await person.microphone.click();
  const failed = person.page.getByTestId('voice-failed');
  for (const [, words] of ANSWERS) {
    await failed.getByText(words).waitFor();
    await failed.getByRole('button', { name: 'Try again' }).click();
  }
  await failed.getByText(/answered 404/).waitFor();
  expect(asked).toBe(ANSWERS.length + 1);
  expect(await person.page.evaluate(() => window.room.asked)).toEqual([]);
  await person.say('What is the weather in Tokyo?');
  await person.answers.getByText(/Tokyo/).first().waitFor();
});

function listening(server: Server): Promise<Server> {
  return new Promise((resolve) => server.listen(0, 'localhost', () => resolve(server)));
}
