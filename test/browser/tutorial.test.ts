import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { TIMEOUT_MS } from './support/launch.ts';
import { TutorialStage, tutorial } from './support/tutorial.ts';

const stage = new TutorialStage();

test.each([
  ['bidi', true],
  ['sse', false],
] as const)('the tutorial ends with an approved refund, over %s, through Vite: %s', (mode, isProxied) =>
  stage.follow(mode, isProxied),
);

test('the curl commands of the tutorial sign in and get an approval request', async () => {
  const server = await stage.startServer();
  const commands = /^```sh\n(curl .*?)^```$/ms.exec(tutorial)?.[1] ?? '';
  const { stdout, status } = spawnSync(
    'sh',
    ['-eu', '-c', commands.replaceAll('localhost:3000', `localhost:${server.port}`)],
    { cwd: stage.folder, encoding: 'utf8', timeout: TIMEOUT_MS },
  );
  expect({ status, refunds: server.refunds }).toEqual({ status: 0, refunds: [] });
  expect(stdout).toMatch(/^\{"user":"clerk"\}.*"tool-approval-request".*\[DONE\]/s);
});
