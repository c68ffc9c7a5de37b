// @vitest-environment jsdom
import { expect, test } from 'vitest';
import { FilePart } from '../src/chat/file-part.tsx';
import { mount } from './support/mount.tsx';

test.each([
  ['video/mp4', 'data:video/mp4;base64,AAAA', 'video'],
  ['audio/wav', 'data:audio/wav;base64,AAAA', 'audio'],
  ['application/pdf', 'data:application/pdf;base64,AAAA', 'a'],
  ['video/mp4', 'javascript:alert(1)', 'span'],
])('a file of %s at %s is shown as %s', async (mediaType, url, element) => {
  await mount(
    <p data-testid="file">
      <FilePart file={{ url, mediaType }} alt="picture" />
    </p>,
  );
  const shown = document.querySelector('[data-testid=file]')?.firstElementChild;
  expect(shown?.localName).toBe(element);
  if (element === 'video' || element === 'audio') {
    expect(shown?.getAttribute('src')).toBe(url);
    expect(shown?.hasAttribute('controls')).toBe(true);
  }
});
