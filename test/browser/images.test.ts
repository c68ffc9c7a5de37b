import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { Person } from './support/person.ts';

const here = stage();

interface File {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

type Look = 'plain' | 'noise' | 'clear noise';

/** A real picture, made by the browser: one colour is small, noise is not, and what is clear cannot be a JPEG. */
async function picture(page: Page, type: string, size: number, look: Look = 'plain'): Promise<File> {
  const base64 = await page.evaluate(
    async ([kind, side, looks]) => {
      const canvas = new OffscreenCanvas(side, side);
      const context = canvas.getContext('2d');
      if (!context) throw new Error('There is no canvas.');
      context.fillStyle = 'teal';
      context.fillRect(0, 0, side, side);
      if (looks !== 'plain') {
        const pixels = context.getImageData(0, 0, side, side);
        for (let at = 0; at < pixels.data.length; at += 65_536) {
          crypto.getRandomValues(pixels.data.subarray(at, at + 65_536));
        }
        for (let at = 3; looks === 'noise' && at < pixels.data.length; at += 4) pixels.data[at] = 255;
        context.putImageData(pixels, 0, 0);
      }
      const blob = await canvas.convertToBlob({ type: kind });
      return new Promise<string>((resolve) => {
        const reader = new FileReader();
        reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '');
        reader.readAsDataURL(blob);
      });
    },
    [type, size, look] as const,
  );
  const name = `picture.${type.replace('image/', '')}`;
  return { name, mimeType: type, buffer: Buffer.from(base64, 'base64') };
}

const strip = (person: Person) => person.page.getByRole('list', { name: 'Files to send' }).locator('img');

async function attach(person: Person, ...files: File[]): Promise<void> {
  await person.page.getByTestId('picture-input').setInputFiles(files);
}

describe('pictures', () => {
  it.each(['sse', 'bidi'] as const)(
    'are attached, seen, sent, answered, and still there after a reload, over %s',
    async (mode) => {
      const person = new Person(await here.open({ mode }));
      for (const type of ['image/png', 'image/jpeg', 'image/webp'])
        await attach(person, await picture(person.page, type, 64));
      await expect.poll(() => strip(person).count()).toBe(3);
      await person.page.getByRole('button', { name: 'Remove picture.png' }).click();
      await expect.poll(() => strip(person).count()).toBe(2);
      await person.say('What is in these pictures?');
      await person.answers
        .getByText(/image|picture/i)
        .first()
        .waitFor();
      await expect.poll(() => person.own.getByRole('img').count()).toBe(2);
      await expect.poll(() => person.isBusy()).toBe(false);
      await person.page.reload();
      await expect.poll(() => person.own.getByRole('img').count()).toBe(2);
      const sizes = await person.own.getByRole('img').evaluateAll((all) =>
        Promise.all(
          all.map(async (image) => {
            await (image as HTMLImageElement).decode();
            return (image as HTMLImageElement).naturalWidth;
          }),
        ),
      );
      expect(sizes).toEqual([64, 64]);
    },
  );

  it('are seen as large as the screen, until Escape, the button or a press beside them', async () => {
    const person = new Person(await here.open());
    await attach(person, await picture(person.page, 'image/png', 600));
    await expect.poll(() => strip(person).count()).toBe(1);
    await person.say('What is in this picture?');
    const large = person.page.getByRole('dialog', { name: 'picture.png' });
    const open = async () => {
      await person.own.getByRole('button', { name: 'Open picture' }).click();
      await large.waitFor();
    };
    const gone = () => large.waitFor({ state: 'detached' });
    await open();
    await person.page.keyboard.press('Escape');
    await gone();
    await open();
    await large.getByRole('img').click();
    await large.getByRole('button', { name: 'Close' }).click();
    await gone();
    await open();
    await person.page.mouse.click(40, 430);
    await gone();
  });

  it('are pasted and dropped', async () => {
    const person = new Person(await here.open());
    const { buffer } = await picture(person.page, 'image/png', 32);
    await person.box.evaluate(
      (box, bytes) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], 'pasted.png', { type: 'image/png' }));
        box.dispatchEvent(
          new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
        );
      },
      [...buffer],
    );
    await person.page.getByRole('img', { name: 'pasted.png' }).waitFor();
    const data = await person.page.evaluateHandle(
      (bytes) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], 'dropped.png', { type: 'image/png' }));
        return transfer;
      },
      [...buffer],
    );
    const target = person.page.getByRole('main');
    for (const type of ['dragenter', 'dragover', 'drop'])
      await target.dispatchEvent(type, { dataTransfer: data });
    await person.page.getByRole('img', { name: 'dropped.png' }).waitFor();
    expect(await strip(person).count()).toBe(2);
  });

  it('that cannot be sent are refused in plain words, and the others stay', async () => {
    const person = new Person(await here.open());
    const good = await picture(person.page, 'image/png', 32);
    const alert = person.page.getByRole('alert');
    await attach(person, { ...good, name: 'letter.png', buffer: Buffer.from('Dear Alice') });
    await alert.getByText('“letter.png” is not a PNG, JPEG or WebP picture.').waitFor();
    await attach(person, {
      ...good,
      name: 'moving.png',
      buffer: Buffer.from('GIF89a\u0001\u0000\u0001\u0000'),
    });
    await alert.getByText('“moving.png” is not a PNG, JPEG or WebP picture.').waitFor();
    await attach(person, { ...good, name: 'torn.png', buffer: good.buffer.subarray(0, 20) });
    await alert.getByText('“torn.png” can’t be opened. It may be damaged.').waitFor();
    await attach(person, ...Array.from({ length: 6 }, (_, index) => ({ ...good, name: `${index}.png` })));
    await alert.getByText('You can send up to 4 files in a message. The others were left out.').waitFor();
    await expect.poll(() => strip(person).count()).toBe(4);
  });

  it('that are large are made smaller in the browser, and refused when that does not help', async () => {
    const person = new Person(await here.open({ mode: 'sse' }));
    const large = await picture(person.page, 'image/png', 1350, 'noise');
    expect(large.buffer.byteLength).toBeGreaterThan(5 * 1024 * 1024);
    await attach(person, large);
    await expect.poll(() => strip(person).count()).toBe(1);
    await attach(person, await picture(person.page, 'image/png', 1350, 'clear noise'));
    await person.page.getByText('“picture.png” is too large. The limit is 5 MB.').waitFor();
    const posted = person.page.waitForRequest((request) => request.url().endsWith('/stream'));
    await person.say('What is in this picture?');
    expect((await posted).postDataBuffer()?.byteLength ?? 0).toBeLessThan(7 * 1024 * 1024);
    await person.answers
      .getByText(/image|picture/i)
      .first()
      .waitFor();
  });
});
