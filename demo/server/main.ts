import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LogLevel, setLogLevel } from '@google/adk';
import { checkModel, chooseModel, withSpeech } from 'duologue/models';
import { createDuologue } from 'duologue/server';
import { nodeListener, serve } from 'duologue/server/node';
import { openPostgresStore } from 'duologue/server/postgres';
import { openRedisHub } from 'duologue/server/redis';
import { openSqliteStore } from 'duologue/server/sqlite';
import { loadTools } from '../tools/load.ts';
import { createAgent } from './agent.ts';
import { createImageDecoder } from './decode-image.ts';
import { loadProvider } from './providers.ts';
import { SAMPLE_TEXTS } from './sample-texts.ts';
import { readSettings } from './settings.ts';
import { COMMON_WORDS } from './voice/best-transcript.ts';
import { detectorFiles } from './voice/detector-files.ts';
import { FetchedParts } from './voice/fetched-parts.ts';
import { DETECTOR } from './voice/parts.ts';
import { voiceRoute } from './voice/route.ts';
import { Voice } from './voice/voice.ts';
import { webApp } from './web.ts';

/** The types of files that a message may have. Gemini and most models of the AI SDK accept them. */
const ATTACHMENTS = [
  'image/png',
  'image/jpeg',
  'image/webp',
  'application/pdf',
  'text/*',
  'application/json',
];

async function main(): Promise<void> {
  // ADK's own log is limited to errors, because the server logs what an operator needs.
  setLogLevel(LogLevel.ERROR);
  const settings = readSettings(process.env);
  const tools = await loadTools();
  const chosen = await chooseModel(process.env, {
    load: loadProvider,
    embedded: {
      rules: [...tools.flatMap(({ rules }) => rules), ...SAMPLE_TEXTS],
      decodeImage: createImageDecoder(),
    },
  });
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 });
  const { shared } = settings;
  const store = await (shared
    ? openPostgresStore({ url: shared.database })
    : openSqliteStore(settings.dataDir));
  const hub = shared?.redis ? await openRedisHub({ url: shared.redis }) : undefined;
  const folder = join(settings.dataDir, 'voice');
  const from = { folder, registry: process.env.npm_config_registry || 'https://registry.npmjs.org/' };
  const expected = [...COMMON_WORDS, ...tools.flatMap(({ words }) => words ?? [])];
  const voice = new Voice({ expected, ...from });
  const detector = new FetchedParts(DETECTOR, from);
  // A native live model needs no speech-to-text or text-to-speech.
  const isLive = chosen.live !== chosen.turn;
  const duologue = createDuologue({
    agent: createAgent({
      model: isLive ? chosen.model : withSpeech(chosen.turn, voice),
      tools,
      surroundings: { env: process.env, dataDir: settings.dataDir },
    }),
    store,
    ...(shared && { node: { address: shared.address } }),
    ...(hub && { hub }),
    apiKey: settings.apiKey,
    origins: settings.origins,
    trustedProxies: settings.trustedProxies,
    hosts: settings.host === 'localhost' ? [] : [settings.host],
    attachments: ATTACHMENTS,
    confirmations: settings.confirmations,
    approvals: settings.approvals,
    inspect: settings.inspect,
    ...(settings.approvalTimeoutMs === undefined ? {} : { approvalTimeoutMs: settings.approvalTimeoutMs }),
  });
  const here = dirname(fileURLToPath(import.meta.url));
  const ofVoice = voiceRoute('/voice', isLive ? null : voice, duologue);
  const ofDetector = voiceRoute('/voice/detector', detector, duologue);
  const served = await serve(duologue, {
    quiet: true,
    host: settings.host,
    port: settings.port,
    fallback: nodeListener(
      {
        handle: async (request) => (await ofVoice(request)) ?? ofDetector(request),
      },
      detectorFiles(detector, folder, webApp(join(here, '..', '..', 'web', 'dist'))),
    ),
  });
  console.log(`Duologue listens on ${served.url}`);
  console.log(`Model: ${chosen.name} (${chosen.why})`);
  console.log(`Another model: ${chosen.howToChange}`);
  console.log(
    `Data: ${shared ? `PostgreSQL${hub ? ' and Redis' : ''}; other nodes reach this one at ${shared.address}` : settings.dataDir}`,
  );
  // The server is ready before the model has answered this check.
  checkModel(chosen.turn, { name: chosen.name })
    .then((wrong) => {
      if (wrong) console.warn(wrong);
    })
    .catch((error: unknown) => console.warn(`The model was not checked: ${String(error)}`));

  let stoppedAt: number | undefined;
  const stop = () => {
    if (stoppedAt !== undefined) {
      // One Ctrl-C arrives twice, from the terminal and from npm. Only a second Ctrl-C ends the process at once.
      if (Date.now() - stoppedAt > 500) process.exit(1);
      return;
    }
    stoppedAt = Date.now();
    detector.close();
    Promise.all([served.close(), voice.close()]).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}

main().catch((error: unknown) => {
  const { code, message } = error as { code?: string; message?: string };
  const port = process.env.PORT || '3000';
  if (code === 'EADDRINUSE')
    console.error(
      `Another program listens on port ${port}. Choose another port: PORT=${Number(port) + 1} npm start`,
    );
  else console.error(`Duologue cannot start: ${message ?? String(error)}`);
  process.exit(1);
});
