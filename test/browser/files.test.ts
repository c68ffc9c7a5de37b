import { join } from 'node:path';
import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { webApp } from '../../demo/server/web.ts';
import { defineTool } from '../../src/adk/index.ts';
import { serve } from '../../src/server/adapters/node.ts';
import { createDuologue } from '../../src/server/index.ts';
import { scriptModel } from '../../src/testing/index.ts';
import { stage } from './support/browser.ts';
import { demo } from './support/built.ts';
import { Person } from './support/person.ts';

const here = stage();

const PDF = { name: 'report.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7\n%%EOF\n') };
const CSV = { name: 'notes.csv', mimeType: 'application/vnd.ms-excel', buffer: Buffer.from('a,b\n1,2\n') };
const ZIP = { name: 'all.zip', mimeType: 'application/zip', buffer: Buffer.from('PK\x03\x04') };

/** A server with the page of the demo, whose agent saves these files with the first message. */
async function savingServer(files: readonly (readonly [name: string, mimeType: string, content: string])[]) {
  const save = defineTool({
    name: 'save_files',
    description: 'Saves.',
    execute: async (_input, context) => {
      for (const [name, mimeType, content] of files) {
        const data = Buffer.from(content).toString('base64');
        await context.saveArtifact(name, { inlineData: { mimeType, data } });
      }
      return { saved: files.length };
    },
  });
  const model = scriptModel([{ call: 'save_files', args: {} }, 'Your report is ready.']);
  const duologue = createDuologue({
    agent: new LlmAgent({ name: 'assistant', model, tools: [save] }),
    logger: { info() {}, warn() {}, error() {} },
  });
  const served = await serve(duologue, { port: 0, quiet: true, fallback: webApp(join(demo, 'web', 'dist')) });
  here.after(() => served.close());
  return served.url;
}

describe('files', () => {
  it.each(['sse', 'bidi'] as const)(
    'of other types are attached, named, sent, described, and still there after a reload, over %s',
    async (mode) => {
      const person = new Person(await here.open({ mode }));
      const { page } = person;
      await page.getByTestId('picture-input').setInputFiles([PDF, CSV]);
      const strip = page.getByRole('list', { name: 'Files to send' });
      await strip.getByText('report.pdf').waitFor();
      await strip.getByText('notes.csv').waitFor();
      await person.say('What is in these files?');
      await person.answers.getByText('report.pdf: a file of the type application/pdf').waitFor();
      await person.answers.getByText('It is text of 2 lines').waitFor();
      await expect.poll(() => person.isBusy()).toBe(false);
      // By now the server has listed its types, so the page refuses others itself.
      await page.getByTestId('picture-input').setInputFiles([ZIP]);
      await page.getByRole('alert').getByText('“all.zip” has a type that is not accepted here.').waitFor();
      await page.reload();
      const link = person.own.getByRole('link', { name: 'report.pdf' });
      const download = page.waitForEvent('download');
      await link.click();
      expect((await download).suggestedFilename()).toBe('report.pdf');
    },
  );

  it('that the server refuses are reported in plain words', async () => {
    const person = new Person(await here.open());
    await person.page
      .getByTestId('picture-input')
      .setInputFiles([{ ...PDF, buffer: Buffer.from('Dear Alice') }]);
    await person.say('Read this');
    await person.page.getByText('The file was not accepted').waitFor();
  });

  it.each(['sse', 'bidi'] as const)(
    'that a tool saves are links with name, version and size, and are saved and never opened, over %s',
    async (mode) => {
      const url = await savingServer([
        ['report.csv', 'text/csv', 'month,sales\nmay,12\n'],
        ['../page.html', 'text/html', '<script>document.title = "opened"</script>'],
      ]);
      const person = new Person(await here.open({ url, mode }));
      const { page } = person;
      await person.say('Make a report');
      const report = person.answers.getByRole('link', { name: 'report.csv' });
      await report.getByText('Version 0 · 19 bytes').waitFor();
      await person.answers.getByText('Your report is ready.').waitFor();
      await page.reload();
      for (const [link, name] of [
        [report, 'report.csv'],
        [person.answers.getByRole('link', { name: 'page.html' }), 'page.html'],
      ] as const) {
        const download = page.waitForEvent('download');
        await link.click();
        expect((await download).suggestedFilename()).toContain(name);
      }
      expect(page.context().pages()).toHaveLength(1);
    },
  );
});
