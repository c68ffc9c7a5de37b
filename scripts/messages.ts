// `npm run messages`: writes docs/messages.md, the table of all log lines and error texts, from the sources.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findMessages } from './messages/find-messages.ts';
import { pageOf } from './messages/page.ts';

const page = pageOf(findMessages(fileURLToPath(new URL('../src', import.meta.url))));
writeFileSync(new URL('../docs/messages.md', import.meta.url), page);
console.log(`docs/messages.md: ${page.split('\n').length} lines`);
