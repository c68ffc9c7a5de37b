// `npm run fixtures`: runs the 21 conversations with the demo server and writes its responses to fixtures/frontend.
import { writeFileSync } from 'node:fs';
import { captureAll, startBackends } from './fixtures/capture.ts';

const folder = new URL('../fixtures/frontend/', import.meta.url);
const backends = await startBackends();
try {
  for (const { file, fixture } of await captureAll(backends)) {
    writeFileSync(new URL(`${file}.json`, folder), `${JSON.stringify(fixture, null, 2)}\n`);
    const { rawEvents, expectedDoneCount } = fixture.output;
    console.log(`${file}.json: ${rawEvents.length} blocks, ${expectedDoneCount} [DONE]`);
  }
} finally {
  await backends.stop();
}
