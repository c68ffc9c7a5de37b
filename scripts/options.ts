// `npm run options`: writes docs/options.md, the tables of all options, from their checks and comments.
import { writeFileSync } from 'node:fs';
import { optionsPage } from './options/page.ts';

const page = optionsPage();
writeFileSync(new URL('../docs/options.md', import.meta.url), page);
console.log(`docs/options.md: ${page.split('\n').length} lines`);
