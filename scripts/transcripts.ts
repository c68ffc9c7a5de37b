// `npm run transcripts`: runs the exchanges of docs/transcripts with a real server and a scripted model, and writes the frames and responses.
import { writeFileSync } from 'node:fs';
import { EXCHANGES, pageOf } from './transcripts/exchanges.ts';

for (const exchange of EXCHANGES) {
  const page = await pageOf(exchange);
  writeFileSync(new URL(`../docs/transcripts/${exchange.file}.md`, import.meta.url), page);
  console.log(`docs/transcripts/${exchange.file}.md: ${page.split('\n').length} lines`);
}
